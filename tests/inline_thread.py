"""A thread that is none: calls are made at once, on the caller's connection, which sees the test's transaction."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class InlineThread:
    """In the place of an ``OwnThread``."""

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """What the call has given back."""
        future: Future[Any] = Future()
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        return future
