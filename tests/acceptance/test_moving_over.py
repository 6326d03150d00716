"""From kombu's own Redis transport to DelayHub without a pause: old and new workers beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery

from delayhub.celery_support.kombu_workers import kombu_workers
from delayhub.errors import OldWorkersAlive
from delayhub.local.redis_server import RedisServer
from delayhub.testing.movable_clock import MovableClock
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker, celery_command
from tests.waiting import wait_until


@pytest.fixture
def old_producer(redis_server: RedisServer) -> Iterator[Celery]:
    """A producer that has not been switched yet."""
    made = Celery("old", broker=redis_server.url, set_as_current=False)
    yield made
    made.close()


def publish(producer: Celery, count: int, **options: Any) -> list[str]:
    return [producer.send_task("proj.run", [0.02], **options).id for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_every_task_runs_once_while_workers_and_producers_change_one_by_one(
    pool: str,
    proj: Any,
    worker: Callable[..., CeleryWorker],
    old_producer: Celery,
    redis_server: RedisServer,
    redis_client: redis.Redis,
) -> None:
    control = proj.app.control

    def ended() -> int:
        return len(ledger.task_ids(proj, "end"))

    old, new = worker(pool, BROKER_URL=redis_server.url, PLAIN="1"), worker(pool)
    for one in (old, new):
        one.command += ["--queues", "celery,reports"]
    with old:
        ids = publish(old_producer, 40) + publish(old_producer, 10, queue="reports")
        held = publish(old_producer, 20, countdown=3) + publish(old_producer, 20, countdown=12)
        far = publish(old_producer, 5, countdown=3600)
        wait_until(lambda: redis_client.hlen("unacked") >= 45, otherwise=lambda: f"held tasks: {old.log}")

        # step 1: new workers beside the old ones
        with new:
            # step 2: producers change, one by one; so both kinds publish for a while
            for _ in range(5):
                ids += publish(old_producer, 10) + publish(proj.app, 10) + publish(proj.app, 2, countdown=1)
                control.import_redis(ready_only=True)
            with pytest.raises(OldWorkersAlive, match=old.name):
                control.import_redis()

            # step 3: the old workers stop; what they hold goes back to their queues
            wait_until(lambda: ended() >= 50, otherwise=lambda: f"progress: {new.log}")
            old.terminate()

            # step 4: import until there is nothing left
            while control.import_redis(ready_only=True).moved:
                pass
            assert control.import_redis() == (0, 0, 0)
            wait_until(lambda: ended() >= len(ids + held), otherwise=lambda: f"{ended()} of {len(ids + held)}")

    runs = Counter(ledger.task_ids(proj))
    assert set(runs) == {*ids, *held}
    assert [task_id for task_id, times in runs.items() if times > 1] == []
    assert {task.id for task in control.scheduled()} == {*far}
    assert [key for key in redis_client.keys("*") if b"moving" in key] == []


@pytest.mark.slow
def test_what_was_revoked_before_the_move_never_runs(
    proj: Any,
    worker: Callable[..., CeleryWorker],
    old_producer: Celery,
    redis_server: RedisServer,
    redis_client: redis.Redis,
) -> None:
    control = proj.app.control
    with worker(BROKER_URL=redis_server.url, PLAIN="1") as old:
        near, far = publish(old_producer, 50, countdown=3600), publish(old_producer, 50, countdown=4 * 86_400)
        (last,) = publish(old_producer, 1, countdown=3601)
        wait_until(lambda: redis_client.hlen("unacked") == 101, otherwise=lambda: f"held tasks: {old.log}")
        old_producer.control.revoke(near + far)
        wait_until(
            lambda: {*near, *far} == {*kombu_workers(proj.app, redis_server.url).popitem()[1]},
            otherwise="a worker that has heard what was revoked",
        )

        assert control.import_redis(ready_only=True).moved == 0
        old.terminate()

    assert control.import_redis().moved == 101
    assert {task.id for task in control.scheduled()} == {last}
    MovableClock(redis_client, jobs=False).advance(hours=2)
    with worker() as new:
        wait_until(lambda: last in ledger.task_ids(proj, "end"), otherwise=lambda: f"the task that remains: {new.log}")
    assert ledger.task_ids(proj) == [last]
    assert {proj.app.AsyncResult(task_id).state for task_id in near + far} == {"REVOKED"}


@pytest.mark.slow
def test_moving_to_another_server_leaves_to_old_workers_what_they_hold(
    proj: Any, worker: Callable[..., CeleryWorker]
) -> None:
    with RedisServer() as other, Celery("old", broker=other.url, set_as_current=False) as producer:
        with worker(BROKER_URL=other.url, PLAIN="1") as old:
            (held,) = publish(producer, 1, countdown=3600)
            left = publish(producer, 3, queue="reports")  # which no worker takes
            with other.client() as client:
                wait_until(lambda: client.hlen("unacked") == 1, otherwise=lambda: f"a held task: {old.log}")

            assert proj.app.control.import_redis(other.url, ready_only=True) == (3, 1, 3)
            with pytest.raises(OldWorkersAlive, match=old.name):
                proj.app.control.import_redis(other.url)
            old.terminate()

        assert proj.app.control.import_redis(other.url) == (1, 0, 1)

    assert {task.id for task in proj.app.control.scheduled()} == {held}
    assert proj.app.control.counts("reports")["reports"].ready == len(left)


@pytest.mark.slow
def test_check_names_old_workers_that_do_not_see_what_a_new_producer_publishes(
    proj: Any, env: dict[str, str], worker: Callable[..., CeleryWorker], redis_server: RedisServer
) -> None:
    with worker(BROKER_URL=redis_server.url, PLAIN="1") as old:
        task = proj.run.delay()
        said = celery_command(env, "delayhub", "check")

        assert "1 tasks are due on celery, and no worker that answers takes it" in said
        assert f"{old.name}@" in said
        assert "have redis:// for their broker and do not see them" in said
        with worker():
            assert task.get(timeout=60) == task.id


@pytest.mark.slow
def test_what_a_killed_worker_held_comes_over_once_no_old_worker_is_left(
    proj: Any,
    worker: Callable[..., CeleryWorker],
    old_producer: Celery,
    redis_server: RedisServer,
    redis_client: redis.Redis,
) -> None:
    with worker(BROKER_URL=redis_server.url, PLAIN="1") as old:
        held = publish(old_producer, 5, countdown=3600)
        wait_until(lambda: redis_client.hlen("unacked") == 5, otherwise=lambda: f"held tasks: {old.log}")
        old.kill()

    assert proj.app.control.import_redis(ready_only=True) == (0, 5, 0)
    assert proj.app.control.import_redis() == (0, 5, 5)
    assert {task.id for task in proj.app.control.scheduled()} == {*held}
