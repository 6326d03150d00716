"""The end of running jobs: written, timed, settled; over a broken connection too, for callbacks and tasks alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from delayhub.celery_support.job_store import Again, Done, JobCall, NotRun
from delayhub.engine import Gate, TimerLane, due_ms
from delayhub.local.redis_server import RedisServer
from tasksapp import series
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Response, Retry
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.creation import create
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Attempt, BizType, Job, Series, Status
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.job_callbacks import JobCallbacks
from tasksapp.workers.task_runner import TaskRunner
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stalled_redis import stalled
from tests.timer_leases import leases_of
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

FAILURES = 3


@pytest.fixture(autouse=True)
def _brittle(settings: Any, _private_redis: None) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "BREAKER_FAILURES": FAILURES}


@pytest.fixture
def callbacks(clock: RedisClock, completer: Completer) -> JobCallbacks:
    return JobCallbacks(clock=clock, completer=completer)


@pytest.fixture
def run_callback(claimer: Claimer, callbacks: JobCallbacks) -> Callable[[str, Any], None]:
    """Claims a new job of the biz type, and writes that outcome of its callback."""

    def run(code: str, outcome: Any, response: Response | None = None) -> None:
        jobs = claimer.running_jobs(claimer.claim_due([due(code)], now_ms=0))
        (callback,) = callbacks.make(jobs, claimed_at=0.0)
        callbacks.write([CallbackResult(callback, outcome, callback.run_at_ms, 5, response)])

    return run


@pytest.fixture
def shop_task(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("shop.task", target="celery", task_name="shop.task", backoff_min_seconds=0, jitter=0)


def due(code: str) -> UUID:
    """A job that is due, also to a clock that is a little behind."""
    return create(code, due_at=timezone.now() - timedelta(seconds=1)).job_id


def claimed(claimer: Claimer) -> RunningJob:
    (job,) = claimer.running_jobs(claimer.claim_due([due("order.close")], now_ms=0))
    return job


def test_the_outcome_of_a_callback_survives_a_broken_connection(
    biz_type: BizType,
    claimer: Claimer,
    callbacks: JobCallbacks,
    break_connection: Callable[[], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs = claimer.running_jobs(claimer.claim_due([due("order.close")], now_ms=0))
    (callback,) = callbacks.make(jobs, claimed_at=0.0)
    break_connection()

    callbacks.write([CallbackResult(callback, Delivered(), callback.run_at_ms)])

    assert (Job.objects.get().status, Attempt.objects.count()) == (Status.SUCCEEDED, 1)
    assert "on a new database connection" in caplog.text


def test_the_outcome_of_a_task_survives_a_broken_connection(
    shop_task: BizType, runner: TaskRunner, break_connection: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    def task(call: JobCall) -> str:
        break_connection()
        return "closed"

    assert runner.run(due("shop.task"), task, now_ms=0) == Done("closed")

    assert (Job.objects.get().status, Attempt.objects.count()) == (Status.SUCCEEDED, 1)
    assert "on a new database connection" in caplog.text


def test_leases_are_renewed_over_a_broken_connection(
    biz_type: BizType, claimer: Claimer, completer: Completer, break_connection: Callable[[], None]
) -> None:
    job = claimed(claimer)
    before = Job.objects.get().lease_until
    break_connection()

    assert completer.renew([job]) == {job.id}

    after = Job.objects.get().lease_until
    assert before is not None
    assert after is not None
    assert after > before


def test_what_a_lock_ended_is_not_tried_another_time(
    biz_type: BizType, claimer: Claimer, completer: Completer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for the same lock, as a puller's request has just done."""
    job, tries = claimed(claimer), []

    def waits(*_: object, **__: object) -> set[UUID]:
        tries.append(1)
        raise OperationalError("canceling statement due to lock timeout") from psycopg.errors.LockNotAvailable()

    monkeypatch.setattr("tasksapp.jobs.completer.renew_leases", waits)

    with pytest.raises(OperationalError):
        completer.renew([job])

    assert tries == [1]


def test_within_a_transaction_a_broken_connection_is_an_error(
    biz_type: BizType, claimer: Claimer, completer: Completer, break_connection: Callable[[], None]
) -> None:
    job = claimed(claimer)

    with pytest.raises(OperationalError), transaction.atomic():
        break_connection()
        completer.renew([job])


def test_failures_of_callbacks_open_the_breaker_and_those_of_tasks_do_not(
    make_biz_type: MakeBizType,
    shop_task: BizType,
    run_callback: Callable[[str, Any], None],
    runner: TaskRunner,
    lane: TimerLane,
) -> None:
    make_biz_type("down")

    def fail(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        raise ConnectionRefusedError

    for _ in range(FAILURES):
        run_callback("down", Retry("refused"))
        assert isinstance(runner.run(due("shop.task"), fail, now_ms=0), Again)

    assert lane.client.exists(lane.keys.queue("down").breaker)
    assert not lane.client.exists(lane.keys.queue("shop.task").breaker)
    assert [batch.queue for batch in lane.claim().batches] == ["shop.task"]


def test_what_comes_after_the_lease_was_lost_sets_no_timer(
    biz_type: BizType, claimer: Claimer, completer: Completer, lane: TimerLane
) -> None:
    kept, lost = claimed(claimer), claimed(claimer)
    lane.client.delete(lane.keys.queue("order.close").waiting)
    Job.objects.filter(id=lost.id).update(lease_token=None)

    written = completer.complete([Completion(job, completion.given_back(job, reason="full")) for job in (kept, lost)])

    assert written == {kept.id}
    assert lane.look("order.close", [str(lost.id)]) == [None]
    assert lane.count("order.close") == 1


def test_two_outcomes_of_a_job_count_as_the_one_whose_lease_holds(
    make_biz_type: MakeBizType, claimer: Claimer, callbacks: JobCallbacks
) -> None:
    make_biz_type("after")
    make_biz_type("twice", on_success="after", on_dead="after")
    job_id = due("twice")
    made = []
    for _ in range(2):
        made += callbacks.make(claimer.running_jobs(claimer.claim_due([job_id], now_ms=0)), claimed_at=0.0)
        # As the loader does it once the lease has ended; the worker stands still, and gets the job another time.
        Job.objects.filter(id=job_id, status=Status.RUNNING).update(status=Status.PENDING, lease_until=None)
    Job.objects.filter(id=job_id).update(status=Status.RUNNING)

    late, real = (CallbackResult(callback, Delivered(), callback.run_at_ms) for callback in made)
    callbacks.write([real, late._replace(outcome=GiveUp("status 410", "status"))])

    assert Job.objects.get(id=job_id).status == Status.SUCCEEDED
    assert Job.objects.filter(biz_type__code="after").count() == 1
    assert Attempt.objects.count() == 1


def test_an_outcome_that_comes_too_late_leaves_the_slot_of_who_has_the_job_now(
    make_biz_type: MakeBizType, claimer: Claimer, callbacks: JobCallbacks, lane: TimerLane
) -> None:
    make_biz_type("capped", max_in_flight=1)
    lane.set_gate("capped", Gate(max_in_flight=1))
    job_id = due("capped")
    assert lane.claim().batches
    (late,) = callbacks.make(claimer.running_jobs(claimer.claim_due([job_id], now_ms=0)), claimed_at=0.0)
    # The lease has ended, and another worker has the job by a slot of its own.
    Job.objects.filter(id=job_id).update(lease_token=1)
    later_ms = due_ms(timezone.now() + timedelta(minutes=1)) + int(lane.options.slot_seconds * 1000)
    lane.client.zadd(lane.keys.queue("capped").in_flight, {str(job_id): later_ms})

    callbacks.write([CallbackResult(late, Delivered(), late.run_at_ms)])

    assert lane.client.zcard(lane.keys.queue("capped").in_flight) == 1


def test_jobs_that_end_while_redis_stands_still_free_their_slots_when_it_answers(
    make_biz_type: MakeBizType,
    claimer: Claimer,
    callbacks: JobCallbacks,
    lane: TimerLane,
    redis_server: RedisServer,
    settings: Any,
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ARM_TIMEOUT_SECONDS": 0.3}
    make_biz_type("capped", max_in_flight=3)
    lane.set_gate("capped", Gate(max_in_flight=3))
    for _ in range(6):
        due("capped")
    claim = lane.claim()
    lane.acknowledge(leases_of(claim, lane=lane.name))
    ids = [UUID(job_id) for batch in claim.batches for job_id in batch.ids]
    ended = callbacks.make(claimer.running_jobs(claimer.claim_due(ids, now_ms=0)), claimed_at=0.0)
    assert (len(ended), lane.claim().batches) == (3, [])

    with stalled(redis_server):
        for callback in ended:
            callbacks.write([CallbackResult(callback, Delivered(), callback.run_at_ms, 5, None)])

    # One by one, or all at once: slots are freed by a call that may be cut in two.
    claimed: list[str] = []

    def three_more() -> bool:
        claimed.extend(job_id for batch in lane.claim().batches for job_id in batch.ids)
        return len(claimed) == 3

    wait_until(three_more)
    assert Job.objects.filter(status=Status.SUCCEEDED).count() == 3


def test_a_task_whose_lease_was_lost_counts_as_not_run(shop_task: BizType, runner: TaskRunner) -> None:
    def lose(call: JobCall) -> None:
        Job.objects.update(lease_token=None)

    assert isinstance(runner.run(due("shop.task"), lose, now_ms=0), NotRun)
    assert isinstance(runner.run(UUID(int=1), lose, now_ms=0), NotRun)


def test_attempts_are_counted_by_what_came_of_them_and_lost_ones_are_not(
    make_biz_type: MakeBizType,
    run_callback: Callable[[str, Any], None],
    claimer: Claimer,
    completer: Completer,
) -> None:
    kind = make_biz_type("counted", max_attempts=1)
    lost = claimer.running_jobs(claimer.claim_due([due("counted")], now_ms=0))
    Job.objects.update(lease_token=None)

    run_callback("counted", Delivered())
    run_callback("counted", Retry("status 503", kind="http.503"))
    completer.complete([Completion(job, completion.given_back(job, reason="full")) for job in lost])

    counts = {(key.kind, key.key): count for key, count in pulse_recorder.counts.take().items()}
    assert {key.biz_type_id for key in pulse_recorder.counts.take()} <= {kind.id}
    assert (counts["succeeded", ""], counts["failed", "http.503"], counts["dead", "http.503"]) == (1, 1, 1)
    assert counts["busy", ""] == 10


def test_a_job_that_dies_without_an_attempt_is_counted_as_dead(
    biz_type: BizType, claimer: Claimer, completer: Completer, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "MAX_SYSTEM_ERRORS": 1}
    job = claimed(claimer)

    completer.complete([Completion(job, completion.given_back(job, reason="no memory", system_error=True))])

    counts = {(key.kind, key.key): count for key, count in pulse_recorder.counts.take().items()}
    assert counts == {("dead", "system"): 1}


@pytest.mark.parametrize("outcome", [Delivered(), Retry("status 503")])
def test_the_end_of_a_live_job_lets_the_one_begin_that_waits_for_it(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks, lane: TimerLane, outcome: Any
) -> None:
    row = series.create("order.close", name="a", cron="0 0 1 1 *", overlap="cancel")
    first, second = triggered(row), triggered(row)
    (callback,) = callbacks.make(claimer.running_jobs(claimer.claim_due([first], now_ms=0)), claimed_at=0.0)
    claimer.claim_due([second], now_ms=0)
    row.refresh_from_db()
    assert (row.live_job, row.waiting_job) == (first, second)
    fires_at = fires_ms(lane, second)

    callbacks.write([CallbackResult(callback, outcome, callback.run_at_ms)])

    row.refresh_from_db()
    assert (row.live_job, row.waiting_job) == (None, None)
    job = Job.objects.get(id=second)
    assert job.next_run_at <= timezone.now()
    assert fires_ms(lane, second) == due_ms(job.next_run_at) < fires_at
    assert [running.id for running in claimer.running_jobs(claimer.claim_due([second], now_ms=0))] == [second]


def test_a_live_job_that_is_tried_again_stays_the_live_one(
    biz_type: BizType, claimer: Claimer, callbacks: JobCallbacks
) -> None:
    row = series.create("order.close", name="a", cron="0 0 1 1 *", overlap="skip")
    first = triggered(row)

    for outcome, live in ((Retry("status 503"), first), (Delivered(), None)):
        Job.objects.filter(id=first).update(next_run_at=timezone.now() - timedelta(seconds=1))
        (callback,) = callbacks.make(claimer.running_jobs(claimer.claim_due([first], now_ms=0)), claimed_at=0.0)
        callbacks.write([CallbackResult(callback, outcome, callback.run_at_ms)])
        row.refresh_from_db()
        assert row.live_job == live


def triggered(row: Series) -> UUID:
    """A job of the series that is due, also to a clock that is a little behind."""
    job_id = series.trigger(row.pk)
    at = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(id=job_id).update(due_at=at, next_run_at=at)
    return job_id


def fires_ms(lane: TimerLane, job_id: UUID) -> int:
    at = lane.look("order.close", [str(job_id)])[0]
    assert at is not None
    return at
