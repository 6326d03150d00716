"""Timer lanes under every way that Celery can be told to route: nothing is copied into them, and their timers come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection, Exchange, Queue, pools

from delayhub.celery_support.install import install
from delayhub.celery_support.startup_checks import StartupChecks
from delayhub.engine import DelayQueue, EngineOptions, TimerLane
from delayhub.engine.entry import text
from delayhub.engine.gate import Gate, Revision
from delayhub.engine.keys import directory
from delayhub.transport.channel import Channel
from tasksapp.workers.timer_queues import take_timers
from tests.consuming import drain

LANE = "delayhub.timers"
#: A lane as a project may name it in its own settings: Celery gives it the default exchange and key.
DECLARED = {"x-delayhub-task": "tasksapp.deliver", "x-delayhub-batch": 100}
EXCHANGES: tuple[tuple[str | None, str], ...] = (
    (None, "direct"),
    ("shop", "direct"),
    (None, "topic"),
    ("shop", "topic"),
    ("shop", "fanout"),
)
KEYS = (None, "task.default", "#")
QUEUES = ("none", "keyed", "with lane", "by name")
#: Further settings, and the queues of the worker's -Q.
OTHERS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    ({}, ["celery"]),
    ({}, ["celery", LANE]),
    ({"task_create_missing_queues": False}, []),
    ({"task_create_missing_queue_exchange_type": "topic"}, ["celery", LANE]),
    ({"task_default_queue_type": "quorum", "task_create_missing_queue_type": "quorum"}, []),
    ({"task_queue_max_priority": 5, "task_routes": {"shop.*": {"queue": "celery"}}}, []),
    ({"broker_transport_options": {"global_keyprefix": "shop:"}}, []),
)
#: Every combination. Each seventh still pairs every two of these values.
SETTINGS = list(product(EXCHANGES, KEYS, QUEUES, OTHERS))


def queues_of(kind: str, key: str | None) -> Any:
    """Return ``task_queues`` of that kind, made anew since Celery changes them."""
    if kind == "none":
        return None
    if kind == "by name":
        return {"celery": {"routing_key": key or "celery"}, LANE: {"queue_arguments": DECLARED}}
    own = [Queue("celery", routing_key=key or "celery")]
    return [*own, Queue(LANE, queue_arguments=DECLARED)] if kind == "with lane" else own


def app_with(settings: Mapping[str, Any], *, broker: str) -> Celery:
    app = install(Celery("routing", broker=broker))
    app.conf.update(task_default_queue="celery", **settings)
    return app


def start(app: Celery, *, only: list[str]) -> None:
    """What a worker does with its queues at the start."""
    take_timers(instance=SimpleNamespace(app=app), options={})
    app.amqp.queues.select(only)


def messages_in(client: redis.Redis, *, prefix: str) -> dict[str, int]:
    """Messages that wait in each queue, ours or kombu's."""
    names = [text(name) for name in client.smembers(directory(prefix))]
    ours = {name: DelayQueue(client, name, options=EngineOptions(key_prefix=prefix)).count() for name in names}
    found = {name: count.waiting + count.ready + count.parked + count.leased for name, count in ours.items()}
    for name in (LANE, "celery"):
        found[f"kombu's {name}"] = int(client.llen(prefix + name))
    return {name: count for name, count in found.items() if count}


def run(app: Celery, client: redis.Redis, *, prefix: str) -> Counter[str]:
    """How often a plain task and a timer are delivered to the worker's queues."""
    got: Counter[str] = Counter()
    lane = TimerLane(client, LANE, options=EngineOptions(key_prefix=prefix))

    def take(message: Any) -> None:
        ids = message.payload[0]
        got.update(ids[0] if message.headers["task"] == "tasksapp.deliver" else [message.headers["task"]])
        message.ack()

    has_lane = LANE in app.amqp.queues.consume_from
    with app.connection_for_read() as connection:
        with app.amqp.TaskConsumer(connection.default_channel, on_message=take):
            with suppress(TimeoutError):
                connection.drain_events(timeout=0)  # a fanout queue is subscribed by then
            app.send_task("shop.plain")
            if has_lane:
                lane.set_gate("close", Gate(), revision=Revision(1, 1))
                lane.ensure("close", [("timer", 1)])
            wanted = 1 + has_lane
            drain(connection, until=lambda: got.total() >= wanted, within_seconds=10)
            with suppress(TimeoutError):
                while True:
                    connection.drain_events(timeout=0.01)  # what was copied comes too
    return got


def members(client: redis.Redis, key: bytes) -> list[str]:
    """Return the members of a set; none of a key of another type."""
    return [text(member) for member in client.smembers(key)] if client.type(key) == b"set" else []


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.nightly)])
def test_each_plain_task_and_each_timer_comes_once_however_tasks_are_routed(
    broker: str, redis_client: redis.Redis, step: int
) -> None:
    faults = []
    for (name, kind), key, queues, (others, only) in SETTINGS[::step]:
        redis_client.flushall()
        Channel._fanout_queues.clear()  # kombu keeps them for the whole process
        exchange = {"task_default_exchange": name, "task_default_exchange_type": kind, "task_default_routing_key": key}
        app = app_with({**exchange, "task_queues": queues_of(queues, key), **others}, broker=broker)
        start(app, only=only)
        prefix = app.conf.broker_transport_options.get("global_keyprefix", "")

        got = run(app, redis_client, prefix=prefix)
        left = messages_in(redis_client, prefix=prefix)
        bound = [member for at in redis_client.keys("*_kombu.binding*") for member in members(redis_client, at)]
        app.close()
        pools.reset()

        wanted = {"shop.plain": 1, **({} if only == ["celery"] else {"timer": 1})}
        if got != wanted or left or any(LANE in member for member in bound):
            faults.append((name, kind, key, queues, others, only, dict(got), left, bound))
    assert faults == []


@pytest.fixture
def shop(broker: str) -> Iterator[Celery]:
    """An app whose default queue has the default key of a topic exchange, as its timer lane had in earlier releases."""
    made = app_with({"task_default_exchange": "shop", "task_default_exchange_type": "topic"}, broker=broker)
    yield made
    made.close()


def bind_as_earlier_releases(app: Celery) -> None:
    """Bind the lane as the start of a worker of an earlier release does."""
    with Connection(str(app.conf.broker_url).replace("delayhub://", "redis://")) as connection:
        Queue(LANE, Exchange("shop", "topic"), "celery")(connection.default_channel).declare()


def test_a_worker_that_starts_removes_the_binding_of_an_earlier_release(
    shop: Celery, redis_client: redis.Redis
) -> None:
    bind_as_earlier_releases(shop)
    start(shop, only=["celery"])
    with shop.connection_for_read() as connection:
        parent = SimpleNamespace(app=shop, connection=connection)
        StartupChecks(parent).start(parent)

    found = [members(redis_client, key) for key in redis_client.keys("*binding*.shop")]
    assert found == []


def test_a_producer_copies_nothing_into_a_lane_that_a_worker_of_an_earlier_release_bound(
    shop: Celery, redis_client: redis.Redis
) -> None:
    bind_as_earlier_releases(shop)

    shop.send_task("shop.plain")

    assert messages_in(redis_client, prefix="") == {"celery": 1}
    assert DelayQueue(redis_client, LANE).count().ready == 0
