"""After an accepted resolve nothing fires for the business key, and nothing else is touched.

The mark of a biz type that has tombstones is a ``LastingFlag``.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob, KeyResolved, UnknownBizType
from tasksapp.jobs.resolving import life_span
from tasksapp.models import AuditEntry, BizType, Job, Status, Tombstone, Transition
from tasksapp.operations.pages import JobPages
from tasksapp.sql.write_outcomes import write_outcomes
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.operation_runs import planned
from tests.integration.tasksapp.stored_jobs import due
from tests.job_rows import store_job
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


def status_of(job_id: object) -> tuple[str, str]:
    job = Job.objects.get(id=job_id)
    return job.status, job.last_error


def test_what_is_pending_is_cancelled_what_runs_is_named_and_nothing_else_is_touched(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.remind")
    pending, running, reminder = due(biz_id="42"), due(biz_id="42"), due("order.remind", biz_id="42")
    other_key = due(biz_id="43")
    claim(running)

    outcome = jobs.resolve("order.close", "42", by=Actor("ada"), reason="paid")

    assert (outcome.accepted, outcome.cancelled, outcome.running) == (True, [pending], [running])
    assert status_of(pending) == (Status.CANCELLED, "resolved")
    assert [status_of(job)[0] for job in (running, reminder, other_key)] == ["running", "pending", "pending"]
    assert [job.id for job in claim(reminder, other_key).claimed] == [reminder, other_key]
    assert list(AuditEntry.objects.values_list("verb", "job_id", "reason").order_by("id")) == [
        ("resolve", None, "paid"),
        ("resolve", pending, "paid"),
    ]


def test_a_job_whose_transaction_was_open_meanwhile_is_called_off_by_its_claim(biz_type: BizType) -> None:
    late = store_job(biz_type, biz_id="42", due_in=-timedelta(seconds=1))
    Job.objects.filter(id=late.id).delete()
    jobs.resolve("order.close", "42")
    Job.objects.bulk_create([late])  # as if its transaction were committed only now

    answer = claim(late.id)

    assert (answer.claimed, answer.ended) == ([], [late.id])
    assert status_of(late.id) == (Status.CANCELLED, "resolved")


def test_a_failed_attempt_is_not_tried_again_and_one_that_succeeds_counts(biz_type: BizType) -> None:
    failing, succeeding, other = due(biz_id="42"), due(biz_id="42"), due(biz_id="43")
    answer = claim(failing, succeeding, other)
    jobs.resolve("order.close", "42")

    outcomes = [
        finished(failing, answer.token, Transition.RETRY, last_error="503"),
        finished(succeeding, answer.token),
        finished(other, answer.token, Transition.RETRY, last_error="503"),
    ]
    written = write_outcomes(outcomes, now=timezone.now(), worker="w", using="default")

    assert written == {failing, succeeding, other}
    assert status_of(failing) == (Status.CANCELLED, "resolved")
    assert status_of(succeeding) == (Status.SUCCEEDED, "")
    assert status_of(other) == (Status.PENDING, "503")
    assert Job.objects.get(id=failing).finished_at is not None


def test_an_attempt_whose_lease_was_lost_leaves_the_job_to_the_next_claim(biz_type: BizType) -> None:
    job_id = due(biz_id="42")
    answer = claim(job_id)
    jobs.resolve("order.close", "42")
    Job.objects.filter(id=job_id).update(status=Status.PENDING, lease_until=None, lease_token=None)  # by the loader

    outcome = finished(job_id, answer.token, Transition.RETRY, last_error="503")
    written = write_outcomes([outcome], now=timezone.now(), worker="w", using="default")

    assert written == set()
    assert status_of(job_id)[0] == Status.PENDING
    assert claim(job_id).claimed == []


def test_a_create_is_refused_for_a_week_at_least_and_others_are_not(biz_type: BizType) -> None:
    jobs.resolve("order.close", "42")

    with pytest.raises(KeyResolved, match=r"order\.close '42' is resolved"):
        jobs.create("order.close", biz_id="42")
    refused, made = jobs.create_many([jobs.JobRequest("order.close", biz_id=number) for number in ("42", "43")])
    Tombstone.objects.update(until=timezone.now())
    later = due(biz_id="42")

    assert isinstance(refused, jobs.Rejected)
    assert isinstance(made, jobs.Created)
    assert [job.id for job in claim(later).claimed] == [later]


@pytest.mark.parametrize(
    ("fields", "days"),
    [
        ({}, 7),
        ({"max_age": timedelta(days=3)}, 10),
        ({"backoff_max_seconds": 20 * 86_400.0, "jitter": 0.5}, 30),
        ({"backoff_list": [9 * 86_400], "jitter": 0.0}, 9),
    ],
)
def test_it_lasts_as_long_as_a_job_that_runs_may_come_back(fields: dict[str, object], days: int) -> None:
    assert life_span(BizType(**fields)) == timedelta(days=days)


def test_within_a_transaction_it_counts_from_the_commit_on(biz_type: BizType) -> None:
    job_id = due(biz_id="42")

    with transaction.atomic():
        outcome = jobs.resolve(["order.close"], "42")
        before = outcome.accepted, outcome.cancelled, outcome.running, status_of(job_id)[0]
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        rolled_back = jobs.resolve("order.close", "43")
        raise ZeroDivisionError

    assert before == (None, None, None, Status.PENDING)
    assert (outcome.accepted, outcome.cancelled, outcome.running) == (True, [job_id], [])
    assert rolled_back.accepted is None
    assert Tombstone.objects.get().biz_id == "42"


def test_a_redrive_is_refused_unless_it_lifts_the_resolve(biz_type: BizType) -> None:
    dead = store_job(biz_type, Status.DEAD, biz_id="42")
    free = store_job(biz_type, Status.DEAD, biz_id="43")
    jobs.resolve("order.close", "42")

    with pytest.raises(KeyResolved):
        jobs.redrive(dead.id)
    bulk = jobs.apply_many(jobs.Verb.REDRIVE, [dead.id, free.id])
    operation = planned(verb="redrive")
    left = JobPages(operation, biz_type_id=biz_type.id, using="default").left(most=9)
    jobs.redrive(dead.id, lift=True)

    assert (bulk.changed, bulk.left) == (1, 1)
    assert left == []
    assert [job.id for job in claim(dead.id).claimed] == [dead.id]


def test_a_lift_lets_new_jobs_fire(biz_type: BizType) -> None:
    jobs.resolve("order.close", "42")

    assert [jobs.lift("order.close", "42", by=Actor("ada")), jobs.lift("order.close", "42")] == [1, 0]

    job_id = due(biz_id="42")
    assert [job.id for job in claim(job_id).claimed] == [job_id]
    assert AuditEntry.objects.get().verb == "lift"


def test_a_biz_type_that_is_saved_keeps_the_mark_of_its_first_tombstone(biz_type: BizType) -> None:
    jobs.resolve("order.close", "42")

    biz_type.save()

    assert BizType.objects.get().has_tombstones


@pytest.mark.parametrize(
    ("what", "biz_id", "error"),
    [("order.close", "", InvalidJob), ([], "42", InvalidJob), (7, "42", InvalidJob), (["A b"], "42", InvalidJob),
     ([{}], "42", InvalidJob),
     ("no.such", "42", UnknownBizType), ("order.close", "a\0b", InvalidJob)],
)  # fmt: skip
def test_what_names_no_jobs_is_refused(biz_type: BizType, what: object, biz_id: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        jobs.resolve(what, biz_id)  # type: ignore[arg-type]  # that is the point

    assert not Tombstone.objects.exists()
