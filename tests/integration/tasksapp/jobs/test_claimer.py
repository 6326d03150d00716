"""The claim of a worker: what becomes of jobs that are not to run now, callbacks and Celery tasks alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connections, transaction
from django.utils import timezone

from delayhub.clock import due_ms, moment
from delayhub.engine import Gate, TimerLane
from tasksapp.jobs.claimer import LOCKED_WAIT, SHUT_WAIT, Claimer
from tasksapp.jobs.creation import create
from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

Claim = Callable[[UUID], ClaimAnswer]


@pytest.fixture(params=["http", "celery"])
def kind(request: pytest.FixtureRequest, make_biz_type: MakeBizType) -> BizType:
    """A biz type of either target, with a limit of jobs in flight."""
    return make_biz_type("close", target=request.param, task_name="shop.close", max_in_flight=1)


@pytest.fixture
def claim(kind: BizType, claimer: Claimer, lane: TimerLane) -> Claim:
    """Claims a job as its target is claimed, after its timer fired and took the slot."""

    def claim(job_id: UUID) -> ClaimAnswer:
        lane.cancel("close", [str(job_id)])
        lane.client.zadd(lane.keys.queue("close").in_flight, {str(job_id): due_ms(timezone.now() + timedelta(hours=1))})
        if kind.target == BizType.Target.CELERY:
            assert claimer.claim_due([job_id], now_ms=0).claimed == []
            return claimer.claim_forwarded(job_id, now_ms=0)
        return claimer.claim_due([job_id], now_ms=0)

    return claim


def due() -> UUID:
    """A job that is due, also to a clock that is a little behind."""
    return create("close", due_at=timezone.now() - timedelta(seconds=1)).job_id


def fires_ms(lane: TimerLane, job_id: UUID) -> int | None:
    return lane.look("close", [str(job_id)])[0]


def slots(lane: TimerLane) -> int:
    count = lane.client.zcard(lane.keys.queue("close").in_flight)
    assert isinstance(count, int)
    return count


@contextmanager
def locked(job_id: UUID) -> Iterator[None]:
    """Another transaction has the row until the block ends."""
    has_lock, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Job.objects.select_for_update().get(id=job_id)
                has_lock.set()
                may_end.wait(60)
        finally:
            connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    assert has_lock.wait(60)
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def test_a_due_job_runs_with_its_biz_type_and_its_lease(kind: BizType, claim: Claim, claimer: Claimer) -> None:
    job_id = due()

    (job,) = claimer.running_jobs(claim(job_id))

    assert (job.id, job.biz_type, job.attempt_number, job.lease_seconds) == (job_id, kind, 1, 70.0)
    row = Job.objects.get()
    assert (row.status, row.worker, row.lease_token) == (Status.RUNNING, "w1", job.token)


def test_a_job_that_is_not_due_gets_a_timer_at_its_time(kind: BizType, claim: Claim, lane: TimerLane) -> None:
    job = create("close", delay=90).job

    assert claim(job.id).not_due == [(job.id, job.next_run_at)]

    assert fires_ms(lane, job.id) == due_ms(job.next_run_at)
    assert slots(lane) == 0


def test_a_job_that_is_shut_gets_a_timer_soon_and_no_message_of_it_is_under_way(
    kind: BizType, claim: Claim, lane: TimerLane, clock: RedisClock
) -> None:
    job_id = due()
    BizType.objects.update(paused_until=UNTIL_RESUMED)
    clock.sync()
    before_ms = clock.now_ms()

    assert claim(job_id).shut == [job_id]

    fires = fires_ms(lane, job_id)
    assert fires is not None
    assert moment(fires) - moment(before_ms) >= SHUT_WAIT
    assert slots(lane) == 0
    assert (Job.objects.get().status, Job.objects.get().lease_until) == (Status.PENDING, None)


@pytest.mark.postgresql_only
def test_a_job_that_another_transaction_has_locked_gets_a_timer_at_once(
    make_biz_type: MakeBizType, claimer: Claimer, lane: TimerLane, clock: RedisClock
) -> None:
    make_biz_type("close", max_in_flight=1)
    job_id = due()
    lane.cancel("close", [str(job_id)])
    clock.sync()
    before_ms = clock.now_ms()

    with locked(job_id):
        assert claimer.claim_due([job_id], now_ms=0).locked == [job_id]
        assert claimer.claim_forwarded(job_id, now_ms=0).locked == [job_id]

    fires = fires_ms(lane, job_id)
    assert fires is not None
    assert moment(fires) - moment(before_ms) >= LOCKED_WAIT


@pytest.mark.parametrize(
    ("columns", "event", "level"),
    [
        ({"max_age": timedelta(minutes=1)}, "died", "ERROR"),
        ({"when_late": "skip", "max_lateness": timedelta(minutes=1)}, "skipped", "INFO"),
    ],
)
def test_a_job_that_the_claim_ended_has_a_line_with_the_reason(
    kind: BizType, claim: Claim, caplog: pytest.LogCaptureFixture, columns: dict[str, Any], event: str, level: str
) -> None:
    caplog.set_level("INFO", logger="delayhub.jobs")
    BizType.objects.update(**columns)
    job_id = create("close", due_at=timezone.now() - timedelta(minutes=5)).job_id

    claim(job_id)

    # Sums of what earlier tests of this process did may come between.
    [line] = [record for record in caplog.records if getattr(record, "job_id", "") == str(job_id)]
    assert (vars(line)["job_event"], line.levelname) == (event, level)
    assert str(job_id) in line.getMessage()
    why = Job.objects.get().last_error
    assert why != ""
    assert line.getMessage().endswith(why)


def test_a_job_that_the_claim_ended_frees_its_slot(kind: BizType, claim: Claim, lane: TimerLane) -> None:
    kind.max_age = timedelta(minutes=1)
    kind.save()
    job_id = create("close", due_at=timezone.now() - timedelta(minutes=5)).job_id

    claim(job_id)

    assert Job.objects.get().status == Status.DEAD
    assert fires_ms(lane, job_id) is None
    assert slots(lane) == 0


def test_timers_that_come_too_late_take_no_slot_from_the_job_that_runs(
    make_biz_type: MakeBizType, claimer: Claimer, lane: TimerLane
) -> None:
    make_biz_type("close", max_in_flight=1)
    lane.set_gate("close", Gate(max_in_flight=1))
    job_id = due()
    found = lane.claim()
    # The worker stands still; another has the timer since, with a slot of its own, and runs the job.
    Job.objects.filter(id=job_id).update(status=Status.RUNNING)
    slot_ms = found.now_ms + 60_000 + int(lane.options.slot_seconds * 1000)
    lane.client.zadd(lane.keys.queue("close").in_flight, {str(job_id): slot_ms})

    assert claimer.claim_due([job_id], now_ms=found.now_ms).gone == [job_id]

    assert slots(lane) == 1


def test_a_message_that_came_twice_takes_no_slot_from_the_job_that_runs(
    make_biz_type: MakeBizType, claimer: Claimer, lane: TimerLane
) -> None:
    make_biz_type("close", target="celery", task_name="shop.close", max_in_flight=1)
    job_id = due()
    lane.client.zadd(lane.keys.queue("close").in_flight, {str(job_id): due_ms(timezone.now() + timedelta(hours=1))})
    assert claimer.claim_forwarded(job_id, now_ms=0).claimed

    assert claimer.claim_forwarded(job_id, now_ms=0).gone == [job_id]

    assert slots(lane) == 1


def test_a_job_that_the_claim_declared_dead_is_counted(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    kinds = {
        make_biz_type(code, max_lateness=timedelta(seconds=1), when_late=when_late).id: when_late
        for code, when_late in (("dead", "dead"), ("skip", "skip"))
    }
    ids = [create(code, due_at=timezone.now() - timedelta(minutes=1)).job_id for code in ("dead", "skip")]

    claimer.claim_due(ids, now_ms=0)

    (key,) = pulse_recorder.counts.take()
    assert (kinds[key.biz_type_id], key.kind, key.key) == ("dead", "dead", "too_late")
