"""Several threads that do something at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

T = TypeVar("T")


def at_once(*actions: Callable[[], T]) -> list[T]:
    """What the actions give back; they begin at the same moment, in a thread each."""
    line = threading.Barrier(len(actions))

    def act(action: Callable[[], T]) -> T:
        try:
            line.wait(60)
            return action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(act, actions))
