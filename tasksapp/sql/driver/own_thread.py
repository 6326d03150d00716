"""OwnThread: a thread for calls of a database, which may hang for minutes while the caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class OwnThread(Generic[T]):
    """A thread that runs one call after another, and does not keep the process from ending.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[tuple[Future[T], Callable[[], T]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """What the call will give back."""
        if self._thread is None or not self._thread.is_alive():  # a forked child has none of its parent's threads
            self._calls = SimpleQueue()
            self._thread = threading.Thread(target=self._run, args=[self._calls], name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._calls.put((future, call))
        return future

    @staticmethod
    def _run(calls: SimpleQueue[tuple[Future[T], Callable[[], T]]]) -> None:
        while True:
            future, call = calls.get()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
