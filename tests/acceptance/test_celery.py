"""A stock Celery worker on ``delayhub://``: everything runs once, on time, and survives kills and cuts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from celery import chain, chord, group
from celery.exceptions import TaskRevokedError

from delayhub.engine import Counts, DelayQueue
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, read_limits, set_limits
from delayhub.local.redis_server import RedisServer
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.celery_versions import needs_disable_prefetch, needs_threads_that_stop
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until


def starts(proj: Any) -> dict[str, float]:
    return dict(ledger.times(proj))


def counts(redis_client: redis.Redis) -> Counts:
    return DelayQueue(redis_client, "celery").count()


@pytest.mark.parametrize("pool", ["solo", "threads", "prefork", "gevent", "eventlet"])
def test_every_pool_runs_what_celery_users_write(pool: str, proj: Any, worker: Callable[..., CeleryWorker]) -> None:
    with worker(pool) as running:
        later = time.time() + 0.6  # noqa: TID251  compared on one machine
        delayed = proj.run.apply_async(countdown=0.6)

        assert chain(proj.add.s(1, 2), proj.add.s(3))().get(timeout=60) == 6
        assert group(proj.add.s(n, n) for n in range(3))().get(timeout=60) == [0, 2, 4]
        assert chord([proj.add.s(n, n) for n in range(5)], proj.total.s())().get(timeout=60) == 20
        assert proj.flaky.delay().get(timeout=60) == 2
        first = proj.alone.delay("a", waiter="waiter")
        proj.app.AsyncResult("waiter").get(timeout=60)
        assert ledger.task_ids(proj, "alone") == [first.id, first.id, "waiter"]  # its retry had the key at once
        assert proj.eta_of.apply_async(countdown=0.1).get(timeout=60).endswith("+00:00")
        assert proj.eta_of.delay().get(timeout=60) is None
        # Before 1970 means now, and the last moment of the calendar never.
        assert proj.eta_of.apply_async(eta=datetime.min, expires=datetime.max).get(timeout=60).startswith("1970-")  # noqa: DTZ901  as Celery takes them
        delayed.get(timeout=60)
        assert 0 <= starts(proj)[delayed.id] - later < 10
        wait_until(lambda: proj.app.control.ping(timeout=2), otherwise="an answer to a ping")
        running.terminate()


@pytest.mark.slow
def test_a_long_countdown_runs_once_although_leases_are_short(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("threads", LEASE_SECONDS="1.6"), worker("threads", LEASE_SECONDS="1.6"):
        ids = [proj.run.apply_async(args=[0.0], countdown=4.0).id for _ in range(100)]
        ids += [proj.run.delay(4.0).id for _ in range(4)]  # longer than two leases

        wait_until(lambda: len(ledger.task_ids(proj, "end")) >= 104, otherwise="the end of 104 tasks")
        wait_until(lambda: counts(redis_client) == Counts(0, 0, 0, 0), otherwise="an empty queue")

    assert sorted(ledger.task_ids(proj)) == sorted(ids)


@pytest.mark.slow
def test_tasks_that_are_not_due_wait_in_redis_and_for_no_lease_when_their_worker_was_killed(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("prefork") as first:
        due = time.time() + 3.0  # noqa: TID251  compared on one machine
        ids = [proj.run.apply_async(eta=datetime.fromtimestamp(due, UTC)).id for _ in range(40)]
        waiting = counts(redis_client)
        first.kill()
    assert (waiting.leased, counts(redis_client).leased) == (0, 0)

    with worker("prefork"):
        wait_until(lambda: len(ledger.task_ids(proj)) >= 40, otherwise="40 tasks")

    assert sorted(ledger.task_ids(proj)) == sorted(ids)
    assert min(starts(proj).values()) >= due


@pytest.mark.slow
def test_a_killed_workers_tasks_come_back_after_their_lease(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("threads", ACKS_LATE="1", LEASE_SECONDS="1") as first:
        ids = [proj.run.delay(0.2).id for _ in range(30)]
        wait_until(lambda: ledger.task_ids(proj), otherwise="the first start")
        first.kill()
    assert counts(redis_client).leased > 0

    with worker("threads", ACKS_LATE="1", LEASE_SECONDS="1"):
        wait_until(lambda: set(ledger.task_ids(proj, "end")) == set(ids), otherwise="all tasks")


@pytest.mark.slow
def test_a_connection_cut_during_a_late_acknowledged_task_does_not_run_it_twice(
    proj: Any, worker: Callable[..., CeleryWorker], redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    with TcpProxy(redis_server.port) as proxy, worker("threads", broker_port=proxy.port, ACKS_LATE="1") as running:
        task = proj.run.delay(3.0)  # longer than its lease of 2 s
        wait_until(lambda: ledger.task_ids(proj), otherwise="its start")

        assert proxy.cut() > 0

        wait_until(lambda: ledger.task_ids(proj, "end"), otherwise="its end")
        after = proj.run.delay()
        wait_until(
            lambda: after.id in ledger.task_ids(proj, "end"), otherwise=lambda: f"a task after the cut: {running.log}"
        )
        wait_until(lambda: counts(redis_client) == Counts(0, 0, 0, 0), otherwise="an empty queue")

    assert ledger.task_ids(proj).count(task.id) == 1


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "gevent", "eventlet"])
def test_a_task_that_its_worker_cancels_when_the_connection_is_cut_comes_again(
    proj: Any, worker: Callable[..., CeleryWorker], redis_server: RedisServer, redis_client: redis.Redis, pool: str
) -> None:
    with TcpProxy(redis_server.port) as proxy:
        with worker(pool, broker_port=proxy.port, ACKS_LATE="1", CANCELS="1") as running:
            task = proj.run.delay(3.0)
            wait_until(lambda: ledger.task_ids(proj), otherwise="its start")

            assert proxy.cut() > 0

            wait_until(
                lambda: ledger.task_ids(proj, "end") == [task.id],
                otherwise=lambda: f"its end: {running.log}\n{counts(redis_client)}",
            )
            wait_until(lambda: counts(redis_client) == Counts(0, 0, 0, 0), otherwise="an empty queue")


@pytest.mark.slow
def test_a_task_that_no_worker_can_cancel_goes_on_when_the_connection_is_cut(
    proj: Any, worker: Callable[..., CeleryWorker], redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    with TcpProxy(redis_server.port) as proxy:
        with worker("threads", broker_port=proxy.port, ACKS_LATE="1", CANCELS="1") as running:
            task = proj.run.delay(2.5)  # longer than its lease of 2 s
            wait_until(lambda: ledger.task_ids(proj), otherwise="its start")

            assert proxy.cut() > 0

            wait_until(lambda: ledger.task_ids(proj, "end"), otherwise=lambda: f"its end: {running.log}")
            wait_until(lambda: counts(redis_client) == Counts(0, 0, 0, 0), otherwise="an empty queue")
            assert running.is_running

    assert ledger.task_ids(proj) == [task.id]


@pytest.mark.slow
def test_what_waits_for_a_thread_when_the_connection_is_cut_runs_once(
    proj: Any, worker: Callable[..., CeleryWorker], redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    with TcpProxy(redis_server.port) as proxy, worker("threads", broker_port=proxy.port) as running:
        queue = DelayQueue(redis_client, "celery")
        for layer in (SET, SET_AT_ONCE):  # with limits, a message comes when a thread is free
            set_limits(queue, layer, dict.fromkeys(read_limits(queue).tasks, Limit(0)))
        ids = [proj.run.delay(0.5).id for _ in range(12)]
        wait_until(
            lambda: running.log.count("] received") >= 4 and bool(ledger.task_ids(proj)), otherwise="those that wait"
        )

        assert proxy.cut() > 0

        wait_until(lambda: set(ledger.task_ids(proj, "end")) == set(ids), otherwise="all ends")
        wait_until(lambda: counts(redis_client) == Counts(0, 0, 0, 0), otherwise="an empty queue")
    assert Counter(ledger.task_ids(proj)) == dict.fromkeys(ids, 1)


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["solo", pytest.param("threads", marks=needs_threads_that_stop)])
def test_a_stopped_worker_gives_back_what_it_has_not_started(
    pool: str, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    # Before there is a worker: a busy machine publishes as slowly as a worker runs them.
    ids = [proj.run.delay(0.3).id for _ in range(200)]
    with worker(pool, PREFETCH="200") as running:
        wait_until(lambda: len(ledger.task_ids(proj, "end")) >= 3, otherwise="three ends")

        running.terminate(seconds=60)

    left = counts(redis_client)
    done = len(ledger.task_ids(proj, "end"))
    assert left == Counts(0, 200 - done, 0, 0)
    assert done < 100, "it ended what it had"
    order = [entry.id for entry in DelayQueue(redis_client, "celery").claim(200).entries]
    assert order == ids[done:]


@pytest.mark.slow
def test_a_task_revoked_while_no_worker_runs_never_runs_and_its_chord_ends(
    proj: Any, worker: Callable[..., CeleryWorker]
) -> None:
    waiting = proj.run.apply_async(countdown=0.3)
    proj.app.control.revoke(waiting.id)
    late = proj.add.s(2, 2).set(countdown=30)
    body = proj.total.s().on_error(proj.note_error.s())
    result = chord([proj.add.s(1, 1), late], body).apply_async()
    (member,) = proj.app.control.scheduled()
    proj.app.control.revoke(member.id)

    with worker("threads"):
        with pytest.raises(TaskRevokedError):
            result.get(timeout=60, disable_sync_subtasks=False)
        canary = proj.run.apply_async(countdown=0.5)
        canary.get(timeout=60)

    assert waiting.state == "REVOKED"
    assert ledger.task_ids(proj) == [canary.id]


@pytest.mark.slow
def test_control_needs_no_worker(proj: Any) -> None:
    control = proj.app.control
    first = proj.run.apply_async(countdown=100)
    second = proj.run.apply_async(countdown=200)

    assert [task.id for task in control.scheduled()] == [first.id, second.id]
    assert control.reschedule(first.id, countdown=300)
    assert not control.reschedule("never", countdown=300)
    assert [task.id for task in control.scheduled(limit=1)] == [second.id]
    assert [task.id for task in control.scheduled(limit=1, offset=1)] == [first.id]
    assert control.counts()["celery"] == Counts(2, 0, 0, 0)
    assert control.dead() == []


@pytest.mark.slow
def test_an_expired_task_is_announced_and_does_not_run(proj: Any, worker: Callable[..., CeleryWorker]) -> None:
    late = proj.run.apply_async(expires=0.1)
    later = proj.run.apply_async(countdown=0.5, expires=0.2)
    with worker("threads"):
        for expired in (late, later):
            with pytest.raises(TaskRevokedError):
                expired.get(timeout=60)

    assert ledger.task_ids(proj) == []


@needs_disable_prefetch
@pytest.mark.slow
def test_a_worker_without_prefetch_takes_only_what_it_runs(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    ids = [proj.run.delay(0.2).id for _ in range(8)]
    with worker("prefork", DISABLE_PREFETCH="1", ACKS_LATE="1"):
        wait_until(lambda: len(ledger.task_ids(proj)) >= 2, otherwise="two starts")
        assert counts(redis_client).leased <= 2
        wait_until(lambda: len(ledger.task_ids(proj, "end")) >= 8, otherwise="eight ends")

    assert sorted(ledger.task_ids(proj)) == sorted(ids)


@pytest.mark.slow
def test_remote_control_leaves_no_keys_behind(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    with worker("threads"):
        wait_until(lambda: proj.app.control.ping(timeout=1), otherwise="an answer to a ping")
        wait_until(lambda: proj.app.control.inspect(timeout=1).active() is not None, otherwise="the tasks that run")
        kept = [key for key in redis_client.scan_iter("delayhub:*pidbox*", count=1000) if redis_client.pttl(key) == -1]

    assert kept == []
