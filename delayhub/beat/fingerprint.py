"""What makes two beats agree that they have the same entry: texts made of its definition, alike in every process."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from celery import schedules
from celery.beat import BeatLazyFunc

from delayhub.beat.schedule_times import interval_ms
from delayhub.clock import due_ms


def fingerprint(*parts: object) -> str:
    """A short text for values of any kind; the same for equal ones."""
    said = json.dumps(parts, sort_keys=True, default=_said, separators=(",", ":"))
    return hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


def schedule_words(schedule: Any) -> str:
    """A schedule for people, in one line."""
    kind, *rest = schedule_parts(schedule)
    match kind:
        case "interval":
            return f"every {rest[0] / 1000:g} s{' (rounded)' if rest[1] else ''}"
        case "crontab":
            return f"{' '.join(rest[0])} {rest[1]}"
        case "clocked":
            return f"once at {schedule.clocked_time.isoformat(timespec='seconds')}"
        case "solar":
            return f"{rest[0]} at {rest[1]}, {rest[2]}"
    return str(kind)


def schedule_parts(schedule: Any) -> list[Any]:
    """What decides the times of a schedule."""
    if isinstance(schedule, schedules.crontab):
        names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        fields = [str(getattr(schedule, f"_orig_{name}")).replace(" ", "") for name in names]
        return ["crontab", fields, str(schedule.tz)]
    if isinstance(schedule, schedules.solar):
        return ["solar", schedule.event, str(schedule.lat), str(schedule.lon)]
    if isinstance(getattr(schedule, "clocked_time", None), datetime):
        return ["clocked", due_ms(schedule.clocked_time)]
    if type(schedule) is schedules.schedule:
        return ["interval", interval_ms(schedule), bool(schedule.relative)]
    own = {name: value for name, value in vars(schedule).items() if name not in {"app", "_app", "nowfun"}}
    return [f"{type(schedule).__module__}.{type(schedule).__qualname__}", own]


def _said(value: object) -> object:
    """What stands for a value that JSON does not know; never an address in memory."""
    match value:
        case datetime():
            return value.isoformat()
        case BeatLazyFunc():
            lazy: Any = value  # its types forget its fields
            return [_said(lazy._func), lazy._func_params]
        case set() | frozenset():
            return sorted(map(str, value))
        case bytes():
            return value.hex()
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"{getattr(value, '__module__', type(value).__module__)}.{name}"
