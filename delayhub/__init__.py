"""Durable delayed tasks for Celery, Redis and Django.

The names below are loaded when they are first used, so that ``import delayhub.engine`` brings in
neither Celery nor kombu nor Django. kombu knows the schemes (``delayhub://`` …) from this import on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from delayhub.extras import not_installed
from delayhub.schemes import register_with_kombu

if TYPE_CHECKING:
    from delayhub.celery_support.delayed_task import delayed_task
    from delayhub.celery_support.install import install
    from delayhub.celery_support.publish_many import publish_many
    from delayhub.celery_support.unique import Unique
    from delayhub.engine import DelayQueue, EngineOptions, Entry, TimerLane
    from delayhub.errors import DelayHubError
    from delayhub.snooze import Snooze

__version__ = "0.1.0"

__all__ = [
    "DelayHubError",
    "DelayQueue",
    "EngineOptions",
    "Entry",
    "Snooze",
    "TimerLane",
    "Unique",
    "delayed_task",
    "install",
    "publish_many",
]

_HOMES = {
    "DelayHubError": "delayhub.errors",
    "DelayQueue": "delayhub.engine",
    "EngineOptions": "delayhub.engine",
    "Entry": "delayhub.engine",
    "Snooze": "delayhub.snooze",
    "TimerLane": "delayhub.engine",
    "Unique": "delayhub.celery_support.unique",
    "delayed_task": "delayhub.celery_support.delayed_task",
    "install": "delayhub.celery_support.install",
    "publish_many": "delayhub.celery_support.publish_many",
}

register_with_kombu()


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'delayhub' has no attribute {name!r}") from None
    try:
        value = getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        raise not_installed(error, extra="celery") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
