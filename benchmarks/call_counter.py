"""CallCounter: exact counts of the calls that a piece of work makes, of Python functions and of C functions.

A Python function is ours if it is in ``delayhub`` or ``tasksapp``. A call of a C function is ours if such a function
makes it. Counts do not depend on how busy the machine is, so a single additional call shows.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, Self

from tests.repository import ROOT

#: Where our functions are.
PACKAGES = tuple(f"{ROOT / name}/" for name in ("delayhub", "tasksapp"))
_SENDS = {"send", "sendall"}


class Calls(NamedTuple):
    """Counts of calls.

    Args:
        python: calls of our Python functions.
        c: calls of C functions by ours.
        total: calls of all Python functions, Celery's, Django's and the standard library's too.
        sends: writes to a socket by any function: the round trips to Redis, as long as nothing else is connected.
    """

    python: float
    c: float
    total: float
    sends: float

    def __sub__(self, before: Calls) -> Calls:
        return Calls(*(now - then for now, then in zip(self, before, strict=True)))

    def per(self, count: int) -> Calls:
        """Return the counts per piece of work."""
        return Calls(*(round(number / count, 2) for number in self))


class CallCounter:
    """Counts the calls of the thread that enters its block, and of all threads that start inside it."""

    def __init__(self) -> None:
        self._threads: list[list[int]] = []
        self._is_ours: dict[CodeType, bool] = {}

    def __enter__(self) -> Self:
        threading.setprofile(self._begin)
        sys.setprofile(self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def calls(self) -> Calls:
        """Return the counts so far."""
        return Calls(*(float(sum(counts)) for counts in zip(*self._threads, strict=True)))

    def of(self, work: Callable[[], object]) -> Calls:
        """Run a function and return its counts."""
        before = self.calls()
        work()
        return self.calls() - before

    def _begin(self, frame: FrameType, event: str, argument: Any) -> None:
        """Give a thread counts of its own: two threads that add to one number lose some."""
        counts, known = [0, 0, 0, 0], self._is_ours
        self._threads.append(counts)

        def count(frame: FrameType, event: str, argument: Any) -> None:
            code = frame.f_code
            ours = known.get(code)
            if ours is None:
                ours = known[code] = code.co_filename.startswith(PACKAGES)
            if event == "call":
                counts[2] += 1
                counts[0] += ours
            elif event == "c_call":
                counts[1] += ours
                if argument.__name__ in _SENDS and isinstance(getattr(argument, "__self__", None), socket.socket):
                    counts[3] += 1

        sys.setprofile(count)
        count(frame, event, argument)
