"""Debounce keys: a later request replaces the one that waits, until its first attempt begins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.errors import InvalidJob, KeyTaken, TooManyInserts
from tasksapp.jobs.creation import Created, JobRequest, Rejected, create, create_many
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.leases import return_lost_leases
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.stored_timers import timers_ms

pytestmark = pytest.mark.django_db(transaction=True)

BizTypes = MakeBizType


def ask(word: str = "a", *, key: str | None = "k", delay: float = 60, **fields: Any) -> Created:
    """A request of that word under that key."""
    return create("order.close", body=word, delay=delay, debounce_key=key, **fields)


def test_a_pending_job_takes_the_content_of_the_later_request(biz_type: BizType, lane: TimerLane) -> None:
    first = ask("old", delay=600, biz_id="1", priority=3, max_attempts=2)
    later = ask("new", delay=1200, biz_id="2")

    assert (first.created, first.replaced, first.armed) == (True, False, True)
    assert (later.created, later.replaced, later.armed) == (False, True, True)
    job = Job.objects.get()
    assert first.job_id == later.job_id == later.job.id == job.id
    assert (job.body, job.biz_id, job.priority, job.max_attempts, job.version) == ('"new"', "2", 5, None, 2)
    assert job.due_at == job.next_run_at > timezone.now() + timedelta(seconds=1100)
    assert job.created_at < job.updated_at
    assert timers_ms(lane) == {str(job.id): due_ms(job.due_at)}


def test_the_timer_moves_earlier_and_out_of_the_window_too(biz_type: BizType, lane: TimerLane) -> None:
    ask(delay=600)
    assert ask(delay=30).armed
    assert timers_ms(lane) == {str(Job.objects.get().id): due_ms(Job.objects.get().due_at)}

    assert ask(delay=100_000).armed
    assert timers_ms(lane) == {}


@pytest.mark.parametrize("ending", ["cancel", "claim"])
def test_once_its_job_is_not_pending_the_key_makes_a_new_one(biz_type: BizType, ending: str) -> None:
    first = ask("one", delay=0)
    if ending == "cancel":
        jobs.cancel(first.job_id)
    else:
        assert len(claim(first.job_id).claimed) == 1
    second = ask("two")

    assert second.created
    assert second.job_id != first.job_id
    assert Job.objects.get(id=first.job_id).body == '"one"'
    assert ask("three").job_id == second.job_id


def test_a_job_that_waits_for_a_retry_stays_as_it_is_beside_a_younger_one(biz_type: BizType) -> None:
    first = ask("one", delay=0)
    assert len(claim(first.job_id).claimed) == 1
    second = ask("two")

    return_lost_leases(now=timezone.now() + timedelta(hours=1), limit=10, max_system_errors=9, using="default")
    assert set(Job.objects.values_list("id", "status", "debounce_key")) == {
        (first.job_id, Status.PENDING, ""),
        (second.job_id, Status.PENDING, "k"),
    }
    Job.objects.filter(id=first.job_id).update(status=Status.DEAD)
    assert jobs.redrive(first.job_id).status == Status.PENDING


def test_keys_belong_to_their_biz_type_and_none_is_no_key(biz_type: BizType, make_biz_type: BizTypes) -> None:
    make_biz_type("other")
    ids = {ask().job_id, create("other", debounce_key="k").job_id, ask(key=None).job_id, ask(key=None).job_id}

    assert len(ids) == 4


def test_the_database_itself_refuses_a_second_pending_job_with_the_key(biz_type: BizType) -> None:
    first = ask(delay=0)
    other = ask(key="other")

    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(id=other.job_id).update(debounce_key="k")
    assert first.created


@pytest.mark.parametrize(("key", "code"), [("", "blank"), (7, "invalid"), ("x" * 201, "too_long"), ("\n", "invalid")])
def test_a_key_that_cannot_be_is_refused(biz_type: BizType, key: Any, code: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        ask(key=key)

    assert (refused.value.field, refused.value.code) == ("debounce_key", code)


def test_an_idempotency_key_comes_first(biz_type: BizType) -> None:
    first = ask("one", idempotency_key="i1")
    second = ask("two", idempotency_key="i2")
    again = ask("one", idempotency_key="i1")

    assert first.job_id == second.job_id == again.job_id
    assert (second.replaced, again.created, again.replaced) == (True, False, False)
    assert Job.objects.get().body == '"two"'  # the repetition of an old request changes nothing
    repeated = [JobRequest(biz_type="order.close", body="two", delay=60, debounce_key="k", idempotency_key="i2")] * 2
    assert {made.job_id for made in create_many(repeated) if isinstance(made, Created)} == {first.job_id}
    assert Job.objects.get().version == 2
    with pytest.raises(KeyTaken) as taken:
        ask("three", idempotency_key="i2")
    assert taken.value.job_id == first.job_id
    with pytest.raises(KeyTaken):
        ask("one", key="another", idempotency_key="i1")


def test_of_two_requests_of_one_call_with_the_same_key_the_last_wins(biz_type: BizType, lane: TimerLane) -> None:
    def requests(words: str) -> list[JobRequest]:
        keys = {"x": None}
        return [JobRequest(biz_type="order.close", body=w, delay=60, debounce_key=keys.get(w, "k")) for w in words]

    made = [outcome for outcome in create_many(requests("axb")) if isinstance(outcome, Created)]
    assert [(m.created, m.replaced) for m in made] == [(False, False), (True, False), (True, False)]
    assert made[0].job_id == made[2].job_id
    assert made[0].job.body == '"b"'
    again = [outcome for outcome in create_many(requests("cd")) if isinstance(outcome, Created)]

    assert [(m.created, m.replaced, m.job_id) for m in again] == [
        (False, False, made[2].job_id),
        (False, True, made[2].job_id),
    ]
    assert set(Job.objects.values_list("body", "version")) == {('"x"', 1), ('"d"', 2)}
    assert len(timers_ms(lane)) == 2


def test_keys_of_both_kinds_in_one_call_agree_on_the_job(biz_type: BizType) -> None:
    def request(word: str, idempotency_key: str) -> JobRequest:
        return JobRequest(
            biz_type="order.close", body=word, delay=60, debounce_key="k", idempotency_key=idempotency_key
        )

    requests = [request("a", "1"), request("b", "2"), request("b", "2"), request("c", "2")]
    outcomes = create_many(requests)

    job = Job.objects.get()
    assert [outcome.job_id for outcome in outcomes if isinstance(outcome, Created)] == [job.id] * 3
    assert isinstance(outcomes[3], Rejected)
    assert isinstance(outcomes[3].error, KeyTaken)
    assert outcomes[3].error.job_id == job.id
    assert job.body == '"b"'
    assert [outcome.job_id for outcome in create_many(requests[:2]) if isinstance(outcome, Created)] == [job.id] * 2
    assert Job.objects.get().version == 1


def test_a_replacement_counts_towards_the_insert_rate(make_biz_type: BizTypes) -> None:
    make_biz_type("order.close", insert_rate=0.001, insert_burst=2)
    ask()
    ask()

    with pytest.raises(TooManyInserts):
        ask()


def test_a_transaction_that_fails_takes_the_replacement_back(biz_type: BizType, lane: TimerLane) -> None:
    made = ask("old", delay=600)
    before = timers_ms(lane)
    with transaction.atomic():
        assert ask("new", delay=60).armed is None
        transaction.set_rollback(True)

    assert Job.objects.get(id=made.job_id).body == '"old"'
    assert timers_ms(lane) == before


def test_a_replacement_is_one_statement(biz_type: BizType) -> None:
    ask()
    with CaptureQueriesContext(connection) as queries:
        ask()

    assert len(queries) == 1
