"""Two Celery apps in one process, on one broker: each goes by its own settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from kombu.utils.collections import eqhash

import delayhub
from delayhub.local.redis_server import RedisServer
from delayhub.transport.channel import Channel

BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"


@pytest.fixture
def made(broker: str, redis_server: RedisServer) -> Iterator[Callable[[str], Celery]]:
    """Makes an app in a time zone; its results are in a database of its own."""
    apps: list[Celery] = []

    def make(zone: str) -> Celery:
        results = f"{redis_server.url.removesuffix('/0')}/{len(apps) + 1}"
        app = Celery(zone, broker=broker, backend=results, set_as_current=False)
        app.conf.update(timezone=zone, enable_utc=False)
        apps.append(delayhub.install(app))
        return app

    yield make
    for app in apps:
        app.close()


def now() -> datetime:
    """The time in UTC, without a time zone."""
    return datetime.now(UTC).replace(tzinfo=None)  # noqa: TID251  Celery's etas are of the machine's clock


def minutes_until(app: Celery, task_id: str) -> float:
    (at,) = [task.at for task in app.control.scheduled() if task.id == task_id]
    return (at - datetime.now(UTC)).total_seconds() / 60  # noqa: TID251  as above


def test_an_eta_without_a_time_zone_is_in_utc_in_every_app(made: Callable[[str], Celery]) -> None:
    berlin, tokyo = made(BERLIN), made(TOKYO)

    ids = {
        zone: app.send_task("shop.close", eta=now() + timedelta(minutes=10)).id
        for zone, app in ((BERLIN, berlin), (TOKYO, tokyo))
    }

    assert [minutes_until(berlin, task_id) for task_id in ids.values()] == pytest.approx([10, 10], abs=0.1)
    assert tokyo.control.reschedule(ids[TOKYO], eta=now() + timedelta(minutes=20))
    assert berlin.control.reschedule(ids[BERLIN], eta=now() + timedelta(minutes=30))
    assert [minutes_until(berlin, task_id) for task_id in ids.values()] == pytest.approx([30, 20], abs=0.1)


def test_a_dead_task_has_its_result_with_the_app_whose_worker_had_it(made: Callable[[str], Celery]) -> None:
    first, second = made(BERLIN), made(TOKYO)
    first.send_task("shop.close", task_id="t")

    with first.connection_for_read() as connection:
        channel: Channel = connection.default_channel
        message: Any = channel.basic_get("celery")
        channel.hooks.on_dead(message, "lost its process")
        message.ack()

    assert (first.AsyncResult("t").state, second.AsyncResult("t").state) == ("FAILURE", "PENDING")


def test_connections_belong_to_their_app_in_pools_and_copies_too(made: Callable[[str], Celery]) -> None:
    first, second = made(BERLIN), made(TOKYO)

    assert first.pool is not second.pool
    with first.connection_for_write().clone() as copy, second.connection_for_write() as other:
        assert copy.default_channel.hooks is not other.default_channel.hooks


def test_an_app_that_is_installed_twice_keeps_its_pool(made: Callable[[str], Celery]) -> None:
    app = made(BERLIN)
    before = app.connection_for_write()

    delayhub.install(app)

    assert eqhash(app.connection_for_write()) == eqhash(before)
