"""Celery apps with a schedule, beats of theirs, and what these have published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery

import delayhub
from delayhub.beat import Scheduler
from delayhub.engine import DelayQueue
from delayhub.testing.movable_clock import MovableClock
from delayhub.transport.envelope import from_payload

Beats = Callable[..., Scheduler]


@pytest.fixture
def apps(broker: str) -> Iterator[Callable[..., Celery]]:
    """Makes apps with a schedule on one empty broker."""
    made: list[Celery] = []

    def make(main: str = "shop", **settings: Any) -> Celery:
        app = Celery(main, broker=broker, set_as_current=False)
        app.conf.update(result_expires=None, **settings)
        delayhub.install(app)
        made.append(app)
        return app

    yield make
    for app in made:
        app.close()


@pytest.fixture
def beats() -> Iterator[Beats]:
    """Makes beats of an app, without threads: a test calls ``tick``."""
    made: list[Scheduler] = []

    def make(app: Celery, kind: type[Any] = Scheduler, **options: Any) -> Any:
        made.append(kind(app, **options))
        return made[-1]

    yield make
    for beat in made:
        beat.close()


@pytest.fixture
def clock(redis_client: redis.Redis) -> MovableClock:
    """Moves all that is in the broker."""
    return MovableClock(redis_client, jobs=False)


@pytest.fixture
def published(redis_client: redis.Redis) -> Callable[..., list[dict[str, Any]]]:
    """Takes the messages out of a queue, with their headers."""

    def take(queue: str = "celery") -> list[dict[str, Any]]:
        found = []
        while entries := DelayQueue(redis_client, queue).claim(100, no_ack=True).entries:
            found += [from_payload(entry.payload) for entry in entries]
        return found

    return take
