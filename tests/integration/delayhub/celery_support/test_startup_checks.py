"""What a worker checks before it takes tasks."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from celery.exceptions import WorkerShutdown
from kombu import Queue

from delayhub.celery_support import job_store
from delayhub.celery_support.delayed_task import DelayedTask
from delayhub.celery_support.startup_checks import StartupChecks
from delayhub.local.redis_server import RedisServer, free_port

LOGGER = "delayhub.celery_support.startup_checks"


def do_nothing() -> None: ...


@pytest.fixture
def start(app: Celery, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """Runs the checks as a worker does; what they logged."""
    logging.getLogger(LOGGER).propagate = True
    with app.connection_for_write() as connection:
        parent: Any = SimpleNamespace(app=app, connection=connection)

        def run() -> str:
            caplog.clear()
            with caplog.at_level(logging.WARNING, logger=LOGGER):
                StartupChecks(parent).start(parent)
            return caplog.text

        yield run


@pytest.fixture
def evicting(redis_client: redis.Redis) -> Iterator[None]:
    """A server that throws keys away when its memory is full."""
    redis_client.config_set("maxmemory-policy", "allkeys-lru")
    yield
    redis_client.config_set("maxmemory-policy", "noeviction")


def test_the_checks_are_part_of_every_worker(app: Celery) -> None:
    assert StartupChecks in app.steps["consumer"]


def test_a_server_that_keeps_nothing_on_disk_is_warned_of(start: Callable[[], str]) -> None:
    assert "set appendonly yes" in start()


def test_a_worker_refuses_a_server_that_evicts(
    evicting: None, start: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(WorkerShutdown) as ended:
        start()

    assert ended.value.code
    assert "maxmemory-policy is allkeys-lru" in caplog.text
    assert "set noeviction" in caplog.text


def test_a_worker_does_not_start_on_a_replica_and_waits_where_it_comes_back_to_one(
    app: Celery, redis_client: redis.Redis
) -> None:
    with app.connection_for_write() as connection:
        parent: Any = SimpleNamespace(app=app, connection=connection)
        known, new = StartupChecks(parent), StartupChecks(parent)
        known.start(parent)
        redis_client.replicaof("127.0.0.1", free_port())
        try:
            with pytest.raises(WorkerShutdown):
                new.start(parent)
            with pytest.raises(connection.connection_errors, match="it is a replica"):
                known.start(parent)
        finally:
            redis_client.replicaof("NO", "ONE")
        known.start(parent)


def test_the_refusal_can_be_overruled(evicting: None, app: Celery, caplog: pytest.LogCaptureFixture) -> None:
    app.conf.broker_transport_options = {"check_redis": False}
    with app.connection_for_write() as connection, caplog.at_level(logging.WARNING, logger=LOGGER):
        parent: Any = SimpleNamespace(app=app, connection=connection)
        StartupChecks(parent).start(parent)

    assert "maxmemory-policy is allkeys-lru" in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lease_second": 5}, "broker_transport_options has no 'lease_second'"),
        (
            {"queue_order_strategy": "priority"},
            "queue_order_strategy of broker_transport_options must be 'round_robin'",
        ),
        ({"ack_emulation": False}, "ack_emulation of broker_transport_options must be True"),
    ],
)
def test_an_option_that_cannot_work_ends_the_worker_before_it_connects(
    app: Celery, caplog: pytest.LogCaptureFixture, options: dict[str, Any], words: str
) -> None:
    logging.getLogger(LOGGER).propagate = True
    app.conf.update(broker_url="delayhub://127.0.0.1:1/0", broker_transport_options=options)

    with pytest.raises(WorkerShutdown):
        StartupChecks(SimpleNamespace(app=app))

    assert f"This worker does not start: {words}" in caplog.text


def test_messages_that_hide_their_eta_are_refused(
    app: Celery, start: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    app.conf.task_protocol = 1

    with pytest.raises(WorkerShutdown):
        start()

    assert "task_protocol is 1" in caplog.text


def test_messages_of_kombus_own_transport_are_pointed_out(start: Callable[[], str], redis_server: RedisServer) -> None:
    stock = Celery("old", broker=redis_server.url, set_as_current=False)
    stock.send_task("shop.close", ["order-1"])
    stock.send_task("shop.report", queue="undeclared")

    said = start()

    assert "2 messages" in said
    assert "import-redis" in said
    stock.close()


def test_a_worker_on_redis_says_that_it_does_not_see_our_messages(
    app: Celery, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger(LOGGER).propagate = True
    app.send_task("shop.close", ["order-1"])
    app.send_task("shop.close", ["order-2"], countdown=100)

    with app.connection_for_read(redis_server.url) as connection, caplog.at_level(logging.WARNING, logger=LOGGER):
        parent: Any = SimpleNamespace(app=app, connection=connection)
        StartupChecks(parent).start(parent)

    assert "2 tasks of delayhub:// wait in this Redis" in caplog.text


@pytest.mark.django_db
def test_a_timer_queue_needs_a_task_that_does_not_lose_timers(
    app: Celery, start: Callable[[], str], caplog: pytest.LogCaptureFixture, redis_server: RedisServer, settings: Any
) -> None:
    settings.DELAYHUB = {"REDIS_URL": redis_server.url}  # a worker with timer queues also looks at the place of jobs
    app.conf.task_queues = [Queue("timers", queue_arguments={"x-delayhub-task": "shop.deliver"})]
    with pytest.raises(WorkerShutdown):
        start()
    assert "shop.deliver, which is not registered" in caplog.text

    @app.task(name="shop.deliver", shared=False, acks_late=True)
    def deliver(ids: list[str]) -> None:
        del ids

    with pytest.raises(WorkerShutdown):
        start()
    assert "acks_on_failure_or_timeout=False" in caplog.text

    deliver.acks_on_failure_or_timeout = False
    said = start()
    assert "timer" not in said
    assert "does not start" not in said


def test_a_user_who_may_not_look_at_kombus_keys_can_work(
    app: Celery, redis_server: RedisServer, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.acl_setuser(
        "clerk", enabled=True, passwords=["+x"], keys=["delayhub:*", "_kombu*"], categories=["+@all", "-@dangerous"]
    )
    logging.getLogger(LOGGER).propagate = True
    app.conf.broker_url = redis_server.url.replace("redis://", "delayhub://clerk:x@")
    try:
        with app.connection_for_write() as connection, caplog.at_level(logging.INFO, logger=LOGGER):
            parent: Any = SimpleNamespace(app=app, connection=connection)
            StartupChecks(parent).start(parent)
    finally:
        redis_client.acl_deluser("clerk")

    assert "may not call INFO" in caplog.text
    assert "were not looked for" in caplog.text


def test_delayed_tasks_need_an_app_that_keeps_their_jobs(
    app: Celery, start: Callable[[], str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.task(name="shop.remind", base=DelayedTask, biz_type="shop.remind", shared=False)
    def remind() -> None: ...

    app.finalize()
    assert "shop.remind" not in start()

    monkeypatch.setattr(job_store._Registry, "store", None)
    with pytest.raises(WorkerShutdown):
        start()

    assert re.search(r"shop\.remind\b.* cannot run jobs", caplog.text)  # beside shared tasks of other tests
    assert 'add "tasksapp" to INSTALLED_APPS' in caplog.text


def test_a_worker_says_which_options_do_nothing_on_its_broker(app: Celery, start: Callable[[], str]) -> None:
    app.conf.task_queues = [Queue("celery", queue_arguments={"x-delayhub-slots": 4})]

    assert "x-delayhub-slots does nothing on one Redis server, only on a Redis Cluster: celery" in start()


def test_a_worker_names_a_misspelt_option_of_a_task(app: Celery, start: Callable[[], str]) -> None:
    app.task(name="shop.once", uniqe=True, shared=False)(do_nothing)

    assert "uniqe= of shop.once is no option and does nothing; the nearest one is unique=" in start()


def test_a_worker_on_another_broker_says_that_tasks_are_not_unique_there(caplog: pytest.LogCaptureFixture) -> None:
    app = Celery("shop", broker="memory://", set_as_current=False, fixups=())
    app.task(name="shop.once", unique=True, shared=False)(do_nothing)
    logging.getLogger(LOGGER).propagate = True

    with app.connection_for_write() as connection, caplog.at_level(logging.WARNING, logger=LOGGER):
        parent: Any = SimpleNamespace(app=app, connection=connection)
        StartupChecks(parent).start(parent)

    assert "unique= does nothing on memory://, only on delayhub://: shop.once" in caplog.text
