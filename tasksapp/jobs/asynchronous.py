"""The verbs for asynchronous callers: ``await jobs.acreate(…)``, ``areschedule`` and ``acancel``.

Each takes what its synchronous namesake takes, raises the same, and runs in the thread that Django keeps for the
synchronous code of a request, on that thread's connection. Django has no asynchronous transactions, so
the job is committed when the call returns; to create one with other rows, do both in a synchronous function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from tasksapp.jobs.creation import create
from tasksapp.jobs.verbs import cancel, reschedule

P = ParamSpec("P")
R = TypeVar("R")


def asynchronous(verb: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The verb for asynchronous callers, with the same parameters."""

    async def later(*args: P.args, **kwargs: P.kwargs) -> R:
        return await sync_to_async(verb, thread_sensitive=True)(*args, **kwargs)

    update_wrapper(later, verb)
    later.__name__ = later.__qualname__ = f"a{verb.__name__}"
    return later


acreate = asynchronous(create)
areschedule = asynchronous(reschedule)
acancel = asynchronous(cancel)
