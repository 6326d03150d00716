"""``celery -A app delayhub export-redis``: back to kombu's own Redis transport, and forth again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection

import delayhub
from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.local.redis_server import RedisServer
from delayhub.transport import kombu_migration as stock_queue
from delayhub.transport.kombu_migration import Exported
from tests.consuming import take_all
from tests.waiting import wait_until


def taken_by_stock(url: str, **options: Any) -> list[Any]:
    """All messages that a consumer of kombu's own transport gets, acknowledged."""
    with Connection(url, transport_options=options) as connection:
        return take_all(connection, "celery")


def test_tasks_go_back_in_their_order_with_their_etas_and_come_again_as_they_were(
    app: Celery, redis_server: RedisServer, redis_client: redis.Redis, queue: DelayQueue
) -> None:
    close = app.tasks["shop.close"]
    for number, priority in enumerate((3, 0, 3, 9)):
        close.apply_async([f"order-{number}"], priority=priority, task_id=f"now-{number}")
    for _ in range(2):
        close.apply_async(["twice"], countdown=1000, task_id="twice")
    close.apply_async(["moved"], countdown=1000, task_id="moved")
    app.control.reschedule("moved", countdown=5000)
    before = {place: [(e.id, e.at_ms, e.step) for e in queue.list(place)] for place in ("waiting", "ready")}

    assert app.control.export_redis(dry_run=True) == Exported(3, 4, 0, 0, 0)
    assert app.control.export_redis() == Exported(3, 4, 7, 0, 0)

    assert queue.count() == Counts(0, 0, 0, 0)
    assert sum(redis_client.llen(key) for key in redis_client.keys("celery*")) == 7
    assert list(redis_client.scan_iter("delayhub:*:payload")) == []

    assert app.control.import_redis().moved == 7
    after = {place: [(e.id, e.at_ms, e.step) for e in queue.list(place)] for place in ("waiting", "ready")}
    assert after["waiting"] == before["waiting"]
    assert [(name, step) for name, _, step in after["ready"]] == [(name, step) for name, _, step in before["ready"]]

    app.control.export_redis()
    got = taken_by_stock(redis_server.url)
    names = [message.payload[0][0] for message in got]  # lower priorities come first
    assert names == ["order-1", "twice", "twice", "moved", "order-0", "order-2", "order-3"]
    assert [message.headers["eta"] for message in (got[0], *got[4:])] == [None] * 4
    due = [round(datetime.fromisoformat(message.headers["eta"]).timestamp() * 1000) for message in got[1:4]]
    assert due == [at for _, at, _ in before["waiting"]]
    assert all(not name.startswith("x-delayhub") for message in got for name in message.headers)


def test_what_limits_hold_back_goes_back_in_its_order_and_is_held_back_again(
    app: Celery, redis_server: RedisServer, queue: DelayQueue
) -> None:
    close = app.tasks["shop.close"]
    set_limits(queue, DECLARED, {"shop.close": Limit(10**13)})
    delayhub.publish_many(close, [[f"order-{number}"] for number in range(4)])
    close.apply_async(["more"], priority=0)
    close.apply_async(["last"], priority=9)
    queue.claim(4, no_ack=True)  # takes one, and parks what it comes by
    close.apply_async(["new"], priority=9)
    assert queue.count() == Counts(0, 1, 0, 0, 5)

    assert app.control.export_redis() == Exported(0, 6, 6, 0, 0)
    assert queue.count() == Counts(0, 0, 0, 0)
    assert app.control.import_redis().moved == 6

    assert queue.claim(10).entries == []
    assert queue.count() == Counts(0, 0, 0, 0, 6)
    app.control.export_redis()
    names = [message.payload[0][0] for message in taken_by_stock(redis_server.url)]
    assert names == ["order-1", "order-2", "order-3", "more", "last", "new"]


def test_an_export_that_was_cut_short_stores_nothing_twice(
    app: Celery, redis_server: RedisServer, queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock_queue, "BATCH", 5)
    for number in range(12):
        app.tasks["shop.close"].apply_async([str(number)], priority=number % 2 * 9)

    def die(self: DelayQueue, ids: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut, pytest.raises(KeyboardInterrupt):
        cut.setattr(DelayQueue, "discard", die)
        app.control.export_redis()
    assert queue.count().ready == 12

    assert app.control.export_redis().moved == 12

    expected = [str(number) for number in (*range(0, 12, 2), *range(1, 12, 2))]
    assert [message.payload[0][0] for message in taken_by_stock(redis_server.url)] == expected


def test_what_is_held_dead_or_unreadable_stays(app: Celery, redis_client: redis.Redis, queue: DelayQueue) -> None:
    queue.schedule([Entry(name, payload=b"?") for name in ("held", "dead", "unreadable")])
    held, dead = queue.claim(2).entries
    queue.bury([queue.lease(dead.id, dead.token)], reason="x")
    app.tasks["shop.close"].delay("good")

    assert app.control.export_redis() == Exported(0, 2, 1, 1, 1)

    assert queue.count() == Counts(0, 1, 1, 1)
    assert held.id == "held"
    assert redis_client.llen("celery") == 1


def test_tasks_go_to_another_server_under_the_same_prefix(app: Celery, queue: DelayQueue) -> None:
    app.conf.broker_transport_options = {"global_keyprefix": "shop:"}
    app.tasks["shop.close"].delay("order-1")
    with RedisServer() as other:
        assert app.control.export_redis(other.url).moved == 1

        with other.client() as client:
            assert client.llen("shop:celery") == 1
        assert app.control.import_redis(other.url, dry_run=True).ready == 1
        (message,) = taken_by_stock(other.url, global_keyprefix="shop:")

    assert message.payload[0] == ["order-1"]


def test_what_a_killed_worker_held_is_moved_once_its_lease_has_run_out(app: Celery, queue: DelayQueue) -> None:
    for _ in range(2):
        app.tasks["shop.close"].delay("held")
    queue.claim(2, lease_ms=200)

    assert app.control.export_redis(dry_run=True) == Exported(0, 0, 0, 2, 0)
    wait_until(lambda: app.control.export_redis().moved, otherwise="what its worker held")

    assert queue.count() == Counts(0, 0, 0, 0)
