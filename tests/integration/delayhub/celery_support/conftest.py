"""A Celery app on an empty delayhub broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from celery.bin.base import CLIContext
from click.testing import CliRunner, Result

import delayhub
from delayhub.celery_support.command import delayhub as command
from delayhub.engine import DelayQueue


@pytest.fixture
def app(broker: str) -> Iterator[Celery]:
    """A Celery app on an empty delayhub broker."""
    made = Celery("shop", broker=broker, set_as_current=False, fixups=())  # none of Django's
    delayhub.install(made)

    @made.task(name="shop.close", shared=False)
    def close(order: str) -> None:
        del order

    yield made
    made.close()


@pytest.fixture
def queue(redis_client: redis.Redis) -> DelayQueue:
    """The engine's own view of the app's default queue."""
    return DelayQueue(redis_client, "celery")


@pytest.fixture
def run(app: Celery) -> Callable[..., Result]:
    """Runs the command as ``celery -A`` does."""

    def run(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(command, arguments, **options, obj=CLIContext(app=app, no_color=True, workdir=None))

    return run
