"""When a cron expression occurs, found by a walk over the minutes of UTC that looks at the clock in a zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Shown(NamedTuple):
    """What the clock shows at a minute of UTC; ``new``: that, and what it left out, if it never showed them before."""

    at: datetime
    wall: datetime
    new: Sequence[datetime]


def walk(zone: str, begin: datetime, end: datetime) -> list[Shown]:
    """The minutes from ``begin`` on; it is known what the clock showed in the six hours before."""
    tz, found = ZoneInfo(zone), []
    at = begin - 6 * HOUR
    latest = at.astimezone(tz).replace(tzinfo=None)
    while at < end:
        wall = at.astimezone(tz).replace(tzinfo=None)
        new = [latest + step * MINUTE for step in range(1, (wall - latest) // MINUTE + 1)]
        latest = max(latest, wall)
        if at >= begin:
            found.append(Shown(at, wall, new))
        at += MINUTE
    return found


def field(text: str, values: range) -> set[int]:
    """The values that a field of an expression names."""
    named: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first, last = (values.start, values.stop - 1) if span == "*" else (int(low), int(high or low))
        named |= set(range(first, last + 1, int(step or 1)))
    return named


class Named:
    """Whether an expression names a time of the wall clock."""

    def __init__(self, expression: str) -> None:
        bounds = (range(60), range(24), range(1, 32), range(1, 13), range(7))
        self._fields = [field(text, values) for text, values in zip(expression.split(), bounds, strict=True)]
        self.is_fixed = "*" not in "".join(expression.split()[:2])

    def __call__(self, wall: datetime) -> bool:
        shown = (wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7)
        return all(part in values for part, values in zip(shown, self._fields, strict=True))


def expected(named: Named, minutes: Sequence[Shown]) -> list[datetime]:
    """When it must run, by looking at each minute in turn."""
    if named.is_fixed:
        return [each.at for each in minutes if any(map(named, each.new))]
    return [each.at for each in minutes if named(each.wall)]
