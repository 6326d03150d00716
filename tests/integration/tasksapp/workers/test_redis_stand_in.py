"""While Redis is away due jobs are found by their rows; some wait for it, and no failing receiver is overrun."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp.biz_types import failure_counter
from tasksapp.models import UNTIL_RESUMED, BizType, Job, PausedKey, Status
from tasksapp.timers.lanes import without_redis
from tasksapp.workers import redis_stand_in as module
from tasksapp.workers.delivery_runtime import DeliveryRuntime, delivery_runtime
from tasksapp.workers.redis_stand_in import RedisSilence, RedisStandIn
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.receiver import Receiver
from tests.job_rows import store_job
from tests.standing_clock import StandingClock

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.database,
    pytest.mark.usefixtures("ends_delivery", "redis_away"),
]
AGO = timedelta(seconds=-1)


@pytest.fixture
def redis_away() -> Iterator[None]:
    with without_redis():
        yield


class Site:
    """A process that delivers; its Redis is away, unless a test says that it claimed."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.claimed_at = 0.0
        silence = RedisSilence(ask=lambda: False, claimed_at=lambda: self.claimed_at, clock=self.clock)
        self.clock.seconds += 3
        self.stand_in = RedisStandIn(silence=silence)

    def turn(self) -> int:
        claimed = self.stand_in.run_once()
        assert delivery_runtime().outcome_writer.wait_until_idle(20)
        return claimed

    def redis_is_back(self) -> None:
        self.clock.seconds += 1
        self.claimed_at = self.clock.seconds


@pytest.fixture
def site() -> Site:
    return Site()


def test_what_is_due_is_delivered_once(site: Site, make_biz_type: MakeBizType, receiver: Receiver) -> None:
    kind = make_biz_type("order.close", url=receiver.url())
    due, later = store_job(kind, due_in=AGO), store_job(kind, due_in=timedelta(minutes=5))

    claimed = [site.turn(), site.turn()]

    assert claimed == [1, 0]
    assert len(receiver.received) == 1
    assert {job.id: job.status for job in Job.objects.all()} == {due.id: Status.SUCCEEDED, later.id: Status.PENDING}


def test_what_is_due_is_due_by_the_clock_of_the_database(
    site: Site, make_biz_type: MakeBizType, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another time than that of this machine.
    an_hour_ahead = SystemClock().now_ms() + 3_600_000
    monkeypatch.setattr(module, "database_now_ms", lambda *, using: an_hour_ahead)
    store_job(make_biz_type("order.close", url=receiver.url()), due_in=timedelta(minutes=50))

    assert site.turn() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"delivery_rate": 5.0},
        {"max_in_flight": 2},
        {"key_max_in_flight": 2},
        {"key_rate": 5.0},
        {"enabled": False},
        {"paused_until": timezone.now() + timedelta(hours=1)},
        {"target": BizType.Target.CELERY, "task_name": "shop.close", "url": ""},
        {"lane": "served.elsewhere"},
    ],
)
def test_some_wait_for_redis_or_for_what_they_wait_for_anyway(
    site: Site, make_biz_type: MakeBizType, fields: dict[str, Any]
) -> None:
    store_job(make_biz_type("order.close", **{"url": "http://127.0.0.1:1/x", **fields}), due_in=AGO)

    assert site.turn() == 0
    assert Job.objects.get().status == Status.PENDING


def test_a_receiver_that_is_down_gets_one_callback_after_each_pause(
    site: Site, make_biz_type: MakeBizType, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "BREAKER_FAILURES": 3, "BREAKER_SECONDS": 600.0}
    monkeypatch.setattr(failure_counter, "time", site.clock)
    kind = make_biz_type("order.close", url="http://127.0.0.1:1/down", backoff_min_seconds=600)
    for _ in range(3):
        store_job(kind, due_in=AGO)
    site.turn()
    for _ in range(5):
        store_job(kind, due_in=AGO)
    during_the_pause = site.turn()

    site.clock.seconds += 601
    after_it = site.turn()

    assert (during_the_pause, after_it) == (0, 1)


def test_while_redis_answers_it_claims_nothing(make_biz_type: MakeBizType, receiver: Receiver) -> None:
    store_job(make_biz_type("order.close", url=receiver.url()), due_in=AGO)
    clock = StandingClock()

    silence = RedisSilence(ask=lambda: True, claimed_at=lambda: 0.0, clock=clock)
    clock.seconds += 3

    assert RedisStandIn(silence=silence, make_runtime=_no_runtime).run_once() == 0


def _no_runtime() -> DeliveryRuntime:
    raise AssertionError("it makes nothing in a process that may never need it")


def test_after_redis_is_back_only_late_jobs_are_taken(
    site: Site, make_biz_type: MakeBizType, receiver: Receiver
) -> None:
    kind = make_biz_type("order.close", url=receiver.url())
    site.turn()
    site.redis_is_back()
    on_time, late = store_job(kind, due_in=AGO), store_job(kind, due_in=timedelta(seconds=-30))

    site.turn()

    assert {job.id: job.status for job in Job.objects.all()} == {on_time.id: Status.PENDING, late.id: Status.SUCCEEDED}


def test_jobs_of_a_biz_type_with_a_paused_flow_key_wait_for_redis(
    site: Site, make_biz_type: MakeBizType, receiver: Receiver
) -> None:
    kind = make_biz_type("order.close", url=receiver.url())
    PausedKey.objects.create(biz_type=kind, flow_key="a", until=UNTIL_RESUMED, paused_at=timezone.now())
    store_job(kind, due_in=AGO)

    claimed = [site.turn()]
    PausedKey.objects.all().delete()
    claimed.append(site.turn())

    assert claimed == [0, 1]
