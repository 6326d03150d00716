"""What tests of the timeout centre may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import redis
from celery import Celery
from django.db import OperationalError, connection, connections
from django.utils import timezone

import delayhub
from delayhub.engine import TimerLane
from delayhub.local.redis_server import RedisServer
from tasksapp.admin.frame.job_charts import settled_points
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.models import BizType
from tasksapp.stats.pulse_recorder import pulse_recorder
from tasksapp.tasks import deliver
from tasksapp.timers import lanes
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.slots import held_slots
from tasksapp.workers.delivery_runtime import close_delivery_runtime, delivery_runtime
from tasksapp.workers.task_runner import TaskRunner, lease_keeper
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver
from tests.redis_time import redis_now_ms, wait_until_redis_ms
from tests.timer_leases import leases_of
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _private_redis(settings: Any, redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[None]:
    settings.DELAYHUB = {
        "REDIS_URL": redis_server.url,
        "ALLOWED_NETWORKS": ["127.0.0.0/8"],
        "ARM_TIMEOUT_SECONDS": 5.0,  # a machine busy with tests is no reason to leave a timer to the loader
    }
    lanes.try_again()
    biz_type_cache.clear()
    pulse_recorder.forget()
    settled_points.clear()
    held_slots.forget()
    yield
    lanes.try_again()


@pytest.fixture
def app(current_celery: Celery, broker: str) -> Celery:
    """The process' Celery app, on an empty broker."""
    current_celery.conf.broker_url = broker
    delayhub.install(current_celery)
    return current_celery


@pytest.fixture
def lane(redis_client: redis.Redis) -> TimerLane:
    """The timer lane that jobs wait in."""
    return TimerLane(redis_client, "delayhub.timers")


@pytest.fixture
def biz_type(db: None) -> BizType:
    """A biz type that takes jobs."""
    return BizType.objects.create(code="order.close", url="https://shop.example/hooks/close")


@pytest.fixture
def make_biz_type(db: None) -> MakeBizType:
    """Makes biz types: ``make_biz_type("a.code", max_attempts=3)``."""

    def make(code: str, **fields: object) -> BizType:
        return BizType.objects.create(code=code, **{"url": "https://shop.example/hooks", **fields})

    return make


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that takes everything until the test gives it another answer."""
    with Receiver() as started:
        yield started


@pytest.fixture
def ends_delivery() -> Iterator[None]:
    """Closes the process' delivery runtime and its connections after a test that delivered something.

    Before it too: a runtime keeps the settings that it was made with, and another test's may be other ones.
    """
    close_delivery_runtime()
    yield
    close_delivery_runtime()
    connections.close_all()


@pytest.fixture
def fire(lane: TimerLane, ends_delivery: None) -> Fire:
    """Delivers what is due, as the transport does: claim, task, acknowledge; then waits for the outcomes."""

    def fire() -> list[str]:
        # What is due now is due at the end of this millisecond: times are rounded up, so that nothing is early.
        wait_until_redis_ms(lane.client, redis_now_ms(lane.client) + 2)
        claim = lane.claim()
        ids = [job_id for batch in claim.batches for job_id in batch.ids]
        deliver(ids, lane=lane.name, now_ms=claim.now_ms)
        lane.acknowledge(leases_of(claim, lane=lane.name))
        assert delivery_runtime().outcome_writer.wait_until_idle(20)
        return ids

    return fire


# A worker's parts, without its process.


@pytest.fixture
def clock() -> RedisClock:
    """Redis' time, two milliseconds behind at most: on a busy machine the answer to a clock may be read late."""
    made = RedisClock(client)
    wait_until(lambda: made.ask() and timezone.now().timestamp() * 1000 - made.now_ms() < 2)
    return made


@pytest.fixture
def claimer(clock: RedisClock, db: None) -> Claimer:
    return Claimer(clock=clock, worker="w1", using="default")


@pytest.fixture
def completer(clock: RedisClock, db: None) -> Completer:
    return Completer(clock=clock, worker="w1", using="default")


@pytest.fixture
def runner(clock: RedisClock, db: None) -> TaskRunner:
    return TaskRunner(clock=clock, keeper=lease_keeper, worker="w1", using="default")


@pytest.fixture
def break_connection(transactional_db: None) -> Iterator[Callable[[], None]]:
    """Breaks this thread's database connection: its next statement fails, and those on a new one do not."""

    def refuse_once(*_: Any) -> None:
        connection.execute_wrappers.remove(refuse_once)
        raise OperationalError("the connection is broken")

    def break_it() -> None:
        if connection.vendor == "postgresql":
            connection.ensure_connection()
            with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])
        else:  # SQLite has no server that could end it
            connection.execute_wrappers.append(refuse_once)

    yield break_it
    connection.execute_wrappers.clear()
