"""Loaded by Python before anything else: the wall clock of this process is wrong by what a file says.

The file may change at any time: a clock that is set. The monotonic clock stays right, as on a real machine. What C code
asks the system for by itself is not moved; neither Celery nor kombu nor redis-py tells the time that way.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

_file = Path(os.environ["CLOCK_SHIFT_FILE"])
_time_ns = time.time_ns


def _now_ns() -> int:
    return _time_ns() + int(float(_file.read_text() or 0) * 1e9)


def _now() -> float:
    return _now_ns() / 1e9


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> _Datetime:
        return cls.fromtimestamp(_now(), tz)

    @classmethod
    def utcnow(cls) -> _Datetime:
        return cls.fromtimestamp(_now(), dt.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> _Datetime:
        return cls.now()


time.time = _now  # noqa: TID251  the clock that is to be wrong
time.time_ns = _now_ns
dt.datetime = _Datetime  # type: ignore[misc]  # that is what it is for
