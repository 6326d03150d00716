"""Descriptors: what processes do again and again leaves none open, even while the garbage collector does not run.

An open file in a reference cycle stays open until Python looks for garbage, which in an idle process takes minutes: a
worker that leaves one with each turn reaches its limit first.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import connections
from django.test import Client
from django.utils import timezone

from delayhub.celery_support.startup_checks import StartupChecks
from tasksapp.access.keys import issue_key
from tasksapp.alerts.watch import Watch
from tasksapp.api.openapi.document import openapi_document
from tasksapp.biz_types.sample_call import send_sample
from tasksapp.health.readiness import Readiness
from tasksapp.maintenance.loader import Loader, LoaderReporter
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.metrics.redis_numbers import lane_numbers, queue_numbers, worker_numbers
from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope
from tasksapp.queues.celery_broker import CeleryBroker, celery_broker
from tasksapp.stats.delivery_health import delivery_health
from tasksapp.timers.broker import broker, timer_pool, timer_prefix
from tasksapp.timers.fitness import names_redis, settings_faults
from tasksapp.timers.lanes import timer_address
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.heartbeat_thread import HeartbeatThread, beat_of_child
from tests.admin_scene import store_scene
from tests.browser.admin_site import Workers, pages
from tests.integration.tasksapp.receiver import Receiver
from tests.waiting import wait_until

ROUNDS = 5


@pytest.fixture(autouse=True)
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.fixture(autouse=True)
def _timers_are_the_brokers(app: Celery, settings: Any) -> None:
    """The usual settings: the timers are in Celery's broker, so that kombu's code says where that is."""
    settings.DELAYHUB = {name: value for name, value in settings.DELAYHUB.items() if name != "REDIS_URL"}


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def left_open_by(call: Callable[[], object], *, rounds: int = ROUNDS) -> int:
    """How many descriptors that many calls leave open, the first not counted: it may open connections that stay."""
    call()
    before = open_descriptors()
    for _ in range(rounds):
        call()
    with suppress(TimeoutError):  # the other end of a connection, a thread of this process, closes it a moment later
        wait_until(lambda: open_descriptors() <= before, within_seconds=2)
    return open_descriptors() - before


def report(reporter: LoaderReporter) -> None:
    reporter._next_at = 0.0
    assert reporter.run_once(epoch="an epoch")


def look_at_queues() -> None:
    with celery_broker() as found:
        assert isinstance(found, CeleryBroker)
        found.watched(lambda: found.browser.summaries(found.names()))


def turn_of_maintenance(thread: MaintenanceThread) -> None:
    assert thread.run_once()


def call_of(url: str) -> Callable[[], object]:
    """A test call, sent as alerts are: by an event loop of its own."""
    return lambda: send_sample(BizType(code="sample", url=url), body="{}")


def what_repeats(app: Celery, clock: RedisClock, receiver: Receiver) -> dict[str, Callable[[], object]]:
    """What workers, web servers and commands do again and again, by name."""
    readiness, loader = Readiness(), Loader(using="default")
    reporter, maintenance = LoaderReporter(using="default", clock=clock), MaintenanceThread(loader)
    heart, watch, control = (
        HeartbeatThread(beat_of_child),
        Watch(using="default", clock=clock, is_worker=True),
        app.control,
    )
    return {
        "address of the timers": timer_address,
        "pool of the timers": lambda: timer_pool(timeout_seconds=1),
        "prefix of the timers": timer_prefix,
        "broker's transport": lambda: broker().transport,
        "faults of the settings": settings_faults,
        "whether settings name a Redis": names_redis,
        "delivery health": delivery_health,
        "readiness": readiness._ask,
        "loader": loader.run_once,
        "loader's report": lambda: report(reporter),
        "maintenance": lambda: turn_of_maintenance(maintenance),
        "heartbeat": heart.run_once,
        "alerts": watch.run_once,
        "metrics of Redis": lambda: [*lane_numbers(), *queue_numbers(), *worker_numbers()],
        "queues": look_at_queues,
        "connection of the app": lambda: app.connection_for_write().transport,
        "call of a receiver": call_of(receiver.url()),
        "call of a receiver that is down": call_of("http://127.0.0.1:1/"),
        "publish": lambda: app.send_task("any.task"),
        "counts": control.counts,
        "backlogs": control.backlogs,
        "unattended queues": control.unattended,
        "schedules": control.schedules,
        "examine": control.examine,
        "ping": lambda: control.ping(timeout=0.01),
        "start of a worker": lambda: StartupChecks(type("Parent", (), {"app": app})),
    }


@pytest.mark.django_db(transaction=True)
def test_what_processes_repeat_leaves_no_descriptor_open(
    app: Celery, clock: RedisClock, biz_type: BizType, receiver: Receiver
) -> None:
    left = {name: left_open_by(call) for name, call in what_repeats(app, clock, receiver).items()}
    connections.close_all()

    assert {name: count for name, count in left.items() if count > 0} == {}


@pytest.mark.django_db
@pytest.mark.slow
def test_no_page_and_no_question_leaves_a_descriptor_open(
    client: Client, django_user_model: Any, redis_client: redis.Redis
) -> None:
    scene, workers = store_scene(), Workers(redis_client)
    ApiKey.objects.create(name="checkout", prefix="dh_3fa9c1", hashed_key="x" * 64, created_at=timezone.now())
    addresses = {**pages(scene), "livez": "/livez", "readyz": "/readyz", "metrics": "/metrics"}
    paths = openapi_document(prefix="")["paths"]
    addresses |= {path: f"/api{path}" for path, verbs in paths.items() if "get" in verbs and "{" not in path}
    client.force_login(django_user_model.objects.create_superuser("ada", password="analytical"))
    headers = {"authorization": f"Bearer {issue_key('reader', scopes=list(Scope.values)).key}"}
    workers.show_life()

    def read(address: str) -> None:
        answer = client.get(address, headers=headers if address.startswith("/api/") else {})
        assert answer.status_code == 200
        assert b"".join(answer)

    left = {name: left_open_by(partial(read, address), rounds=1) for name, address in addresses.items()}

    assert {name: count for name, count in left.items() if count > 0} == {}
