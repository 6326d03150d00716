"""Jobs in tests. The app that keeps them is named by its dotted name only; ``tasksapp.testing`` does the work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any, Protocol, TypeVar

from delayhub.errors import JobStoreMissing

Decorated = TypeVar("Decorated")

APP = "tasksapp"


class TestContext(Protocol):
    """A ``with`` block, and a decorator of test classes and functions."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> object: ...

    def __call__(self, decorated: Decorated) -> Decorated: ...


def without_timers() -> TestContext:
    """A context, also a decorator: while it is open, this process writes no timer, and asks no Redis about jobs.

    Jobs are rows all the same; ``armed`` says False. Use it around every test that creates jobs, so that none of them
    reaches the Redis server that your settings name.

    Raises:
        JobStoreMissing: ``tasksapp`` is not in this process' ``INSTALLED_APPS``.
    """
    found: TestContext = _app().WithoutTimers()
    return found


def run_due_jobs(
    *, receive: Callable[[Any], int] | None = None, send: bool = False, limit: int = 1_000
) -> Sequence[Any]:
    """Runs every job that is due, in this thread and in your transaction, until none is left; no Redis, no worker.

    Gives back a ``RanJob`` for each attempt: its ``job`` as the row is now, ``result`` or ``error`` of its task, or the
    ``callback``. Rates, caps and the breaker of a biz type do not count here.

    Args:
        receive: the receiver of callbacks: it gets each (``url``, ``method``, ``headers``, ``body``) and gives back the
            status code of its answer; without one, each is answered with 200.
        send: whether callbacks are sent to their addresses instead.
        limit: how many attempts there may be.

    Raises:
        JobStoreMissing: ``tasksapp`` is not in this process' ``INSTALLED_APPS``.
        UnknownTask: a job names a task that is not registered in this process.
        RuntimeError: more jobs became due than ``limit``: one of them makes the next.
    """
    found: Sequence[Any] = _app().run_due_jobs(receive=receive, send=send, limit=limit)
    return found


def advance_jobs(*, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
    """Lets so much time pass for rows: all times of jobs, and those of their biz types and series, come nearer.

    Raises:
        JobStoreMissing: ``tasksapp`` is not in this process' ``INSTALLED_APPS``.
        ValueError: the time is negative.
    """
    jump = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if jump < timedelta():
        raise ValueError(f"time does not go back, got {jump}")
    _app().bring_nearer(jump)


def bring_jobs_nearer(jump: timedelta) -> None:
    """The same for a clock, where this process has the app; elsewhere there are no jobs."""
    if keeps_jobs():
        _app().bring_nearer(jump)


def keeps_jobs() -> bool:
    """Whether this process has the app that keeps jobs."""
    registry: Any = sys.modules.get("django.apps")
    return registry is not None and registry.apps.ready and registry.apps.is_installed(APP)


def _app() -> Any:
    if not keeps_jobs():
        raise JobStoreMissing(str(JobStoreMissing.__doc__))
    return import_module(f"{APP}.testing")
