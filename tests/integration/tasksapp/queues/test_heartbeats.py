"""What worker processes leave in Redis, and what readers make of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.utils import timezone

from delayhub.engine.keys import worker, workers
from tasksapp.queues.heartbeats import KEPT_SECONDS, Beat, read_workers, remove_beat, write_beat
from tests.redis_time import redis_now_ms

MAIN = Beat(name="a:1:t", host="a", pid=1, node="celery@a", pool="prefork", queues=["celery", "delayhub.timers"])


def test_a_worker_is_read_as_it_wrote(redis_client: redis.Redis) -> None:
    now_ms = redis_now_ms(redis_client)
    beat = Beat(
        **{name: getattr(MAIN, name) for name in ("name", "host", "pid", "node", "pool", "queues")},
        tasks=[("id-1", "shop.close", now_ms - 2000)],
        running_count=1,
        held=["id-2"],
        seen_ms=now_ms,
        is_loader=True,
    )

    write_beat(redis_client, beat)

    [found] = read_workers()
    assert (found.name, found.host, found.pid, found.is_loader) == ("celery@a", "a", 1, True)
    assert (found.queues, found.lanes) == (("celery", "delayhub.timers"), ("delayhub.timers",))
    assert (found.running[0].name, found.running_count, found.held) == ("shop.close", 1, ("id-2",))
    assert found.last_claim_at is None
    assert abs(timezone.now() - found.seen_at) < timedelta(seconds=60)
    assert found.running[0].since is not None
    assert timedelta(seconds=1) < found.seen_at - found.running[0].since < timedelta(seconds=3)


def test_a_key_ends_by_itself(redis_client: redis.Redis) -> None:
    write_beat(redis_client, MAIN)

    assert 0 < redis_client.ttl(worker("", MAIN.name)) <= KEPT_SECONDS


def test_a_worker_whose_key_has_ended_is_gone_and_so_is_its_name(redis_client: redis.Redis) -> None:
    write_beat(redis_client, MAIN)
    redis_client.delete(worker("", MAIN.name))

    assert read_workers() == []
    assert redis_client.scard(workers()) == 0


def test_a_worker_that_ended_is_gone_at_once(redis_client: redis.Redis) -> None:
    write_beat(redis_client, MAIN)

    remove_beat(redis_client, MAIN.name)

    assert read_workers() == []


def test_what_children_deliver_is_their_parents(redis_client: redis.Redis) -> None:
    write_beat(redis_client, MAIN)
    for pid, opened in ((2, 3), (3, 4)):
        child = Beat(name=f"a:{pid}:t", parent=MAIN.name, host="a", pid=pid, open_callbacks=opened, last_claim_ms=pid)
        write_beat(redis_client, child)

    [found] = read_workers()

    assert (found.pid, found.open_callbacks) == (1, 7)
    assert found.last_claim_at is not None


def test_a_child_that_outlives_its_parent_is_shown_by_itself(redis_client: redis.Redis) -> None:
    write_beat(redis_client, Beat(name="a:2:t", parent=MAIN.name, host="a", pid=2, open_callbacks=3))

    assert [(found.name, found.open_callbacks) for found in read_workers()] == [("a:2", 3)]


@pytest.mark.parametrize("raw", [b"no json", b"[]", b'{"pid": 3}', b'{"name": "x", "tasks": [[1]]}'])
def test_what_cannot_be_read_is_left_out(raw: bytes, redis_client: redis.Redis) -> None:
    write_beat(redis_client, MAIN)
    redis_client.set(worker("", "b:1:t"), raw)
    redis_client.sadd(workers(), "b:1:t")

    assert [found.pid for found in read_workers()] == [1]


def test_fields_of_a_later_release_do_no_harm() -> None:
    assert Beat.parse(b'{"name": "x", "mood": "good"}') == Beat(name="x")


def test_where_no_worker_ever_wrote_there_are_none(redis_client: redis.Redis) -> None:
    assert read_workers() == []
