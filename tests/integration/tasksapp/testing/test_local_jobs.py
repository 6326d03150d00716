"""Jobs in tests: run where they were made, without Redis and worker; times that come nearer."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import connections
from django.test import TestCase
from django.utils import timezone

from delayhub import delayed_task
from delayhub.errors import UnknownTask
from delayhub.testing import MovableClock, advance_jobs, run_due_jobs, without_timers
from delayhub.webhooks.signature import sign
from tasksapp import jobs, series
from tasksapp.errors import KeyResolved
from tasksapp.models import UNTIL_RESUMED, BizType, Job, PausedKey, Status
from tasksapp.testing import SentCallback
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.series_making import occurrences
from tests.integration.tasksapp.token_server import bearers, giving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

closed: list[int] = []


@delayed_task(biz_type="testing.close", name="tests.testing.close", bind=True)
def close(self: Any, order: int, *, fail: bool = False) -> str:
    if fail:
        raise self.retry(countdown=90, exc=LookupError(order))
    closed.append(order)
    return "closed"


@delayed_task(biz_type="testing.again", name="tests.testing.again")
def again() -> None:
    again.schedule()


@pytest.fixture(autouse=True)
def _nothing_ran(current_celery: Celery) -> None:
    closed.clear()


def in_future(**time: float) -> datetime:
    return timezone.now().replace(microsecond=0) + timedelta(**time)


@pytest.fixture
def signed(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("order.paid", signing_secret=SECRET)


class InATransaction(TestCase):
    """Nothing commits here."""

    def test_a_job_runs_where_it_was_made(self) -> None:
        assert connections["default"].in_atomic_block
        close.schedule(args=[42], delay=timedelta(minutes=30))
        assert run_due_jobs() == []

        advance_jobs(minutes=30)
        (ran,) = run_due_jobs()

        assert (ran.job.status, ran.result, closed) == (Status.SUCCEEDED, "closed", [42])


@pytest.mark.django_db
def test_what_a_task_raises_is_given_back_and_its_job_is_tried_again() -> None:
    close.schedule(args=[42], kwargs={"fail": True})

    (ran,) = run_due_jobs()

    assert isinstance(ran.error, LookupError)
    assert (ran.job.status, ran.job.attempts) == (Status.PENDING, 1)
    assert ran.job.next_run_at > timezone.now() + timedelta(seconds=60)


@pytest.mark.django_db
def test_a_task_that_is_no_delayed_task_runs_too(
    current_celery: Celery, make_biz_type: MakeBizType, settings: Any
) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["tests.testing.*"]}

    @current_celery.task(name="tests.testing.plain", shared=False)
    def plain(order: int) -> int:
        return order + 1

    make_biz_type("plain", target=BizType.Target.CELERY, task_name="tests.testing.plain")
    jobs.create("plain", body={"args": [1]})

    (ran,) = run_due_jobs()

    assert (ran.job.status, ran.result) == (Status.SUCCEEDED, 2)


@pytest.mark.django_db
def test_a_task_that_nothing_registered_is_an_error(make_biz_type: MakeBizType) -> None:
    make_biz_type("unknown", target=BizType.Target.CELERY, task_name="tests.testing.unknown")
    jobs.create("unknown")

    with pytest.raises(UnknownTask, match=r"tests\.testing\.unknown"):
        run_due_jobs()


@pytest.mark.django_db
def test_a_task_that_makes_the_next_job_without_end_is_stopped() -> None:
    again.schedule()

    with pytest.raises(RuntimeError, match="5 jobs ran and more are due"):
        run_due_jobs(limit=5)


@pytest.mark.django_db
def test_jobs_of_a_paused_biz_type_wait(signed: BizType) -> None:
    BizType.objects.update(paused_until=UNTIL_RESUMED)
    jobs.create("order.paid")

    advance_jobs(days=400)

    assert run_due_jobs() == []
    assert BizType.objects.get().paused_until == UNTIL_RESUMED


@pytest.mark.django_db
def test_a_callback_is_signed_and_its_answer_decides(signed: BizType) -> None:
    jobs.create("order.paid", biz_id="order-42", body={"order": 42})
    got: list[SentCallback] = []

    def refuse(callback: SentCallback) -> int:
        got.append(callback)
        return 503

    (ran,) = run_due_jobs(receive=refuse)

    (callback,) = got
    assert (ran.job.status, ran.job.last_error, ran.callback) == (Status.PENDING, "status 503", callback)
    assert callback.headers["delayhub-biz-type"] == "order.paid"
    timestamp, id_ = int(callback.headers["webhook-timestamp"]), callback.headers["webhook-id"]
    assert callback.headers["webhook-signature"] == sign(
        [SECRET], message_id=id_, timestamp=timestamp, body=callback.body
    )


@pytest.mark.django_db
def test_a_callback_goes_to_a_real_receiver(make_biz_type: MakeBizType, receiver: Receiver) -> None:
    make_biz_type("order.paid", url=receiver.url())
    jobs.create("order.paid", body={"order": 42})

    (ran,) = run_due_jobs(send=True)

    assert ran.job.status == Status.SUCCEEDED
    assert [request.body for request in receiver.received] == [b'{"order":42}']


@pytest.mark.django_db
def test_a_callback_to_a_real_receiver_carries_the_access_token_that_it_asks_for(
    make_biz_type: MakeBizType, receiver: Receiver
) -> None:
    with Receiver(answer=giving()) as server:
        oauth2 = {"auth": "oauth2", "auth_secret": "hush", "token_url": server.url(), "client_id": "us"}
        make_biz_type("order.paid", url=receiver.url(), **oauth2)
        jobs.create("order.paid")

        (ran,) = run_due_jobs(send=True)

    assert ran.job.status == Status.SUCCEEDED
    assert bearers(receiver) == ["token-1"]


@pytest.mark.django_db
def test_a_series_goes_on_as_time_passes(signed: BizType) -> None:
    row = series.create("order.paid", name="often", every=timedelta(seconds=30), ends_at=in_future(days=1))
    made = occurrences(row)
    ran = []

    for _ in range(3):
        advance_jobs(seconds=30)
        ran += [each.job.id for each in run_due_jobs()]

    row.refresh_from_db()
    assert row.anchor is not None
    assert row.ends_at is not None
    assert (row.ends_at - in_future(days=1)) < -timedelta(seconds=80)
    assert len(ran) == len(set(ran)) == 3
    moved = occurrences(row)
    assert moved[: len(made)] == [at - timedelta(seconds=90) for at in made]
    assert {(at - row.anchor) % timedelta(seconds=30) for at in moved} == {timedelta(0)}


@pytest.mark.django_db
def test_listed_times_come_nearer(signed: BizType) -> None:
    listed = [in_future(hours=hours) for hours in (1, 2, 3)]
    row = series.create("order.paid", name="three", times=listed)

    ran = []
    for _ in listed:
        advance_jobs(hours=1)
        ran.append(len(run_due_jobs()))

    row.refresh_from_db()
    assert ran == [1, 1, 1]
    assert row.times == [(at - timedelta(hours=3)).isoformat() for at in listed]


@pytest.mark.django_db
def test_a_long_time_is_an_outage_to_a_series(signed: BizType) -> None:
    BizType.objects.update(max_lateness=timedelta(minutes=10), when_late="skip")
    row = series.create("order.paid", name="hourly", every=timedelta(hours=1))

    advance_jobs(hours=1, minutes=40)
    (ran,) = run_due_jobs()

    assert ran.job.status == Status.SUCCEEDED
    assert len(occurrences(row)) == 2


@pytest.mark.django_db
def test_a_resolve_and_a_pause_of_a_key_end_as_time_passes(signed: BizType) -> None:
    jobs.resolve("order.paid", "order-42")
    PausedKey.objects.create(biz_type=signed, flow_key="a", paused_at=timezone.now(), until=in_future(hours=1))
    with pytest.raises(KeyResolved):
        jobs.create("order.paid", biz_id="order-42")

    advance_jobs(days=8)

    assert jobs.create("order.paid", biz_id="order-42").created
    assert PausedKey.objects.get().until < timezone.now()


@pytest.mark.django_db
def test_jobs_of_a_paused_flow_key_wait_until_its_pause_is_over(signed: BizType) -> None:
    PausedKey.objects.create(biz_type=signed, flow_key="a", paused_at=timezone.now(), until=in_future(hours=1))
    for key in ("a", "b"):
        jobs.create("order.paid", flow_key=key)

    assert [ran.job.flow_key for ran in run_due_jobs()] == ["b"]
    advance_jobs(hours=2)
    assert [ran.job.flow_key for ran in run_due_jobs()] == ["a"]


@pytest.mark.django_db(transaction=True)
def test_nothing_reaches_redis(signed: BizType, redis_client: redis.Redis) -> None:
    BizType.objects.update(insert_rate=5)
    of_the_biz_type = redis_client.keys()  # its gate, which was written when it was stored
    with without_timers():
        created = jobs.create("order.paid", delay=timedelta(minutes=1))
        jobs.reschedule(created.job_id, delay=timedelta(minutes=2))
        advance_jobs(minutes=2)
        run_due_jobs(receive=lambda callback: 500)

    assert created.armed is False
    assert redis_client.keys() == of_the_biz_type


@pytest.mark.django_db(transaction=True)
def test_a_clock_moves_timers_and_their_jobs_together(signed: BizType, redis_client: redis.Redis, fire: Fire) -> None:
    created = jobs.create("order.paid", delay=timedelta(minutes=30))
    assert fire() == []

    MovableClock(redis_client).advance(minutes=30)

    assert fire() == [str(created.job_id)]
    assert Job.objects.get().attempts == 1


@pytest.mark.django_db
def test_jobs_in_order_run_one_after_the_other(make_biz_type: MakeBizType) -> None:
    make_biz_type("ship", ordered=BizType.Ordered.BLOCKS)
    now = timezone.now()
    later = jobs.create("ship", flow_key="anna", due_at=now - timedelta(seconds=1)).job_id
    first = jobs.create("ship", flow_key="anna", due_at=now - timedelta(seconds=9)).job_id
    Job.objects.filter(id=first).update(next_run_at=now - timedelta(milliseconds=1))  # as after a failed attempt

    assert [ran.job.id for ran in run_due_jobs()] == [first, later]
