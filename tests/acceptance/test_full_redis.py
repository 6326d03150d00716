"""A Redis whose memory is full: workers start, come back and empty it; only what is published is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from kombu.exceptions import OperationalError

from delayhub.engine import DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until

TASKS = 20
#: What a worker logs when it looks for others, at its start and when it is back.
GREETS = "mingle: searching"


@pytest.fixture
def full() -> Iterator[RedisServer]:
    """A broker of its own: results and the ledger are elsewhere."""
    with RedisServer(append_only=False) as server:
        yield server


def fill(client: redis.Redis) -> None:
    """Redis refuses all that needs memory, from now on and whatever is freed."""
    client.config_set("maxmemory", "1mb")
    with pytest.raises(redis.OutOfMemoryError):
        client.set("more", "x")


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "solo"])
@pytest.mark.parametrize("is_first", [True, False], ids=["the first worker", "workers before it"])
def test_a_worker_that_starts_or_reconnects_on_a_full_redis_empties_it(
    proj: Any, worker: Callable[..., CeleryWorker], full: RedisServer, pool: str, *, is_first: bool
) -> None:
    proj.app.conf.broker_url = f"delayhub://127.0.0.1:{full.port}/0"
    running = worker(pool, broker_port=full.port, ACKS_LATE="1")
    running.command.remove("--without-mingle")
    with full.client() as client:
        if not is_first:
            with worker("solo", broker_port=full.port):
                pass
        queue = DelayQueue(client, "celery")

        def ended() -> list[str]:
            return ledger.task_ids(proj, "end")

        def is_empty() -> bool:
            return not sum(queue.count())

        waits = [proj.run.delay().id for _ in range(TASKS)]
        fill(client)

        with running:
            wait_until(lambda: len(ended()) == TASKS and is_empty(), otherwise=lambda: f"all have run: {running.log}")
            greeted = running.log.count(GREETS)
            for kind in ("normal", "pubsub"):
                client.client_kill_filter(_type=kind, skipme=True)
            wait_until(lambda: running.log.count(GREETS) > greeted, otherwise=lambda: f"it is back: {running.log}")
            with pytest.raises((OperationalError, redis.OutOfMemoryError)):
                proj.app.send_task("proj.run", retry=False)

            client.config_set("maxmemory", "0")
            again = proj.run.delay().id
            wait_until(lambda: again in ended() and is_empty(), otherwise=lambda: f"it goes on: {running.log}")

            assert running.is_running
            assert sorted(ended()) == sorted([*waits, again])


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_task_whose_retry_finds_redis_full_waits_and_comes_again(
    proj: Any, worker: Callable[..., CeleryWorker], full: RedisServer, pool: str
) -> None:
    proj.app.conf.broker_url = f"delayhub://127.0.0.1:{full.port}/0"
    with full.client() as client, worker(pool, broker_port=full.port, ACKS_LATE="1") as running:
        queue = DelayQueue(client, "celery")
        task = proj.flaky.apply_async(countdown=1)
        fill(client)
        wait_until(lambda: ledger.task_ids(proj) == [task.id], otherwise="its start")
        wait_until(lambda: not queue.count().leased, otherwise=lambda: f"its end: {running.log}")

        assert queue.count().waiting == 1, running.log
        client.config_set("maxmemory", "0")
        queue.reschedule([task.id], due_ms=0)
        assert task.get(timeout=60) == 2
        wait_until(lambda: not sum(queue.count()), otherwise=lambda: f"an empty queue: {running.log}")
