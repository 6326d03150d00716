"""What is revoked when messages move over; live workers of the old broker are in the acceptance tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from celery import Celery

from delayhub.celery_support import moving_over
from delayhub.celery_support.moving_over import REVOKES_UNKNOWN
from delayhub.engine import DelayQueue, Place
from delayhub.local.redis_server import RedisServer
from tests.redis_time import redis_now_ms, wait_until_redis_ms


@pytest.fixture
def ids(app: Celery, redis_server: RedisServer) -> Iterator[list[str]]:
    """The ids of three tasks that wait on kombu's own transport."""
    with Celery("old", broker=redis_server.url, set_as_current=False) as old:
        yield [old.send_task("shop.close", ["order"]).id for _ in range(3)]


def test_a_move_without_old_workers_says_once_that_it_does_not_know_what_was_revoked(
    app: Celery, ids: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    moved = [app.control.import_redis(ready_only=True).moved for _ in range(2)]  # type: ignore[attr-defined]  # ours

    assert moved == [len(ids), 0]
    assert caplog.messages == [REVOKES_UNKNOWN]


def test_what_an_old_worker_says_is_revoked_stays_so_for_a_later_import_without_it(
    app: Celery, ids: list[str], queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [{"old@host": ids[:2]}, {}]
    monkeypatch.setattr(moving_over, "kombu_workers", lambda *_: answers.pop(0))
    app.control.import_redis(queues=["none"], ready_only=True)  # type: ignore[attr-defined]  # ours

    moved = app.control.import_redis().moved  # type: ignore[attr-defined]  # ours

    assert moved == 3
    assert [listed.id for listed in queue.list(Place.READY)] == [ids[2]]


def test_an_import_keeps_what_was_sent_again_after_the_time_of_its_revoke(
    app: Celery, ids: list[str], queue: DelayQueue, redis_client: redis.Redis
) -> None:
    queue.cancel(["order-5"], tombstone_ms=1)
    wait_until_redis_ms(redis_client, redis_now_ms(redis_client) + 2)
    app.send_task("shop.close", ["order"], task_id="order-5")

    app.control.import_redis()  # type: ignore[attr-defined]  # ours

    assert {listed.id for listed in queue.list(Place.READY)} == {"order-5", *ids}


def test_an_import_keeps_what_was_sent_here_for_later_under_a_revoked_id(
    app: Celery, ids: list[str], queue: DelayQueue
) -> None:
    app.control.revoke("order-5")
    app.send_task("shop.close", ["order"], task_id="order-5", countdown=86_400)

    app.control.import_redis()  # type: ignore[attr-defined]  # ours

    assert [listed.id for listed in queue.list(Place.WAITING)] == ["order-5"]


def test_an_import_that_was_killed_is_made_good_by_the_next_one(
    app: Celery, ids: list[str], queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.cancel(ids[:1], tombstone_ms=60_000)
    with monkeypatch.context() as patch:
        patch.setattr(DelayQueue, "revoked", _killed)
        with pytest.raises(KeyboardInterrupt):
            app.control.import_redis()  # type: ignore[attr-defined]  # ours

    app.control.import_redis()  # type: ignore[attr-defined]  # ours

    assert [listed.id for listed in queue.list(Place.READY)] == ids[1:]


def _killed(queue: DelayQueue) -> list[str]:
    raise KeyboardInterrupt
