"""Outcomes end jobs, or send them round again, and only while their lease holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import Attempt, BizType, Job, Status, Transition
from tasksapp.sql.finished import Tried
from tasksapp.sql.write_outcomes import write_outcomes
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import finished, tried

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_outcome_ends_the_job_and_logs_the_attempt(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id)

    written = write_outcomes([finished(job_id, answer.token)], now=now, worker="w1", using="default")

    assert written == {job_id}
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.status, job.attempts, job.finished_at, job.lease_until) == (Status.SUCCEEDED, 1, now, None)
    assert (attempt.job_id, attempt.number, attempt.status_code, attempt.worker) == (job_id, 1, 204, "w1")
    assert (attempt.response_headers, attempt.response_body) == ({"Server": "nginx"}, "ö\n")
    assert attempt.request_line == "POST https://shop.example/hooks"
    assert attempt.request_headers == {"Host": "shop.example"}


def test_a_retry_waits_and_an_error_on_our_side_uses_no_attempt(biz_type: BizType) -> None:
    retried, ours, now = due(), due(), timezone.now()
    answer = claim(retried, ours)
    later = now + timedelta(seconds=10)

    write_outcomes(
        [
            finished(
                retried, answer.token, Transition.RETRY, next_run_at=later, last_error="503", error_class="http.503"
            ),
            finished(ours, answer.token, Transition.GIVE_BACK, counted=0, system_errors=1, tried=None),
        ],
        now=now,
        worker="w1",
        using="default",
    )

    job = Job.objects.get(id=retried)
    assert (job.status, job.attempts, job.next_run_at, job.last_error) == (Status.PENDING, 1, later, "503")
    assert job.error_class == "http.503"
    job = Job.objects.get(id=ours)
    assert (job.status, job.attempts, job.system_errors, job.finished_at) == (Status.PENDING, 0, 1, None)
    assert Attempt.objects.count() == 1


def test_one_batch_of_a_bare_success_and_a_retry_writes_all_that_each_has(biz_type: BizType) -> None:
    bare, retried, now = due(), due(), timezone.now()
    answer = claim(bare, retried)
    later = now + timedelta(seconds=10)
    nothing = {"response_headers": {}, "response_body": "", "error": "", "request_line": "", "request_headers": {}}
    attempts = {bare: tried(**nothing), retried: tried(2, status_code=503, error="not now")}
    failure = {"next_run_at": later, "system_errors": 1, "last_error": "503", "error_class": "http.503"}

    write_outcomes(
        [
            finished(bare, answer.token, tried=attempts[bare]),
            finished(retried, answer.token, Transition.RETRY, tried=attempts[retried], **failure),
        ],
        now=now,
        worker="w1",
        using="default",
    )

    logged = {row.pop("job_id"): row for row in Attempt.objects.values("job_id", "worker", *Tried._fields)}
    assert logged == {job_id: {**one._asdict(), "worker": "w1"} for job_id, one in attempts.items()}
    rows = Job.objects.in_bulk([bare, retried])
    columns = ("status", "attempts", "system_errors", "last_error", "error_class", "finished_at", "lease_until")
    assert {job_id: [getattr(row, name) for name in columns] for job_id, row in rows.items()} == {
        bare: [Status.SUCCEEDED, 1, 0, "", "", now, None],
        retried: [Status.PENDING, 1, 1, "503", "http.503", None, None],
    }
    assert rows[retried].next_run_at == later


def test_an_outcome_that_comes_after_the_lease_was_lost_changes_nothing(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id, now=now)
    return_lost(now=now + timedelta(hours=1))

    written = write_outcomes([finished(job_id, answer.token)], now=now, worker="w1", using="default")

    assert written == set()
    assert Job.objects.get().status == Status.PENDING
    assert not Attempt.objects.exists()
