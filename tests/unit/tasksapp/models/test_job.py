"""A job's row: what it begins with, and how many attempts of its budget are used."""

from __future__ import annotations

from tasksapp.models import ApiKey, Attempt, IdempotencyKey, Job, Status


def test_a_new_job_is_pending_with_an_id_of_its_own() -> None:
    first, second = Job(), Job()

    assert first.id != second.id
    assert (first.status, first.attempts, first.version, first.priority) == (Status.PENDING, 0, 1, 5)


def test_attempts_count_from_the_last_redrive_on() -> None:
    assert Job(attempts=7, attempt_base=4).attempts_used == 3


def test_rows_have_names_that_a_person_can_tell_apart() -> None:
    job = Job(status=Status.DEAD)

    assert str(job) == f"{job.id} (dead)"
    assert str(Attempt(number=3, job_id=job.id)) == f"attempt 3 of {job.id}"
    assert str(IdempotencyKey(key="k-1")) == "k-1"
    assert str(ApiKey(name="shop", prefix="dh_abc")) == "shop (dh_abc…)"
