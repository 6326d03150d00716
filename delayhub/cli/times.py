"""Times and durations as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from delayhub.clock import SystemClock
from delayhub.errors import OptionError

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in _UNITS))
#: What stands where there is no time.
NO_TIME = "-"
#: Seconds from which on a time is told in the next larger unit, and that unit.
_STEPS = ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h"), (float("inf"), 86_400, "d"))


def now() -> datetime:
    """The time now, in UTC."""
    return datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)


def duration(text: str) -> timedelta:
    """A duration: ``90`` (seconds), ``30m``, ``1h30m``, ``2d``. Raises OptionError."""
    try:
        if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit():
            return timedelta(seconds=float(text))
        found = _DURATION.fullmatch(text.strip().lower().replace(" ", ""))
        if found and any(found.groups()):
            parts = zip(found.groups(), _UNITS.values(), strict=True)
            return timedelta(seconds=sum(float(number) * seconds for number, seconds in parts if number))
    except OverflowError:
        pass
    raise OptionError(f"a duration is like 30m, 1h30m, 2d or 90 (seconds), got {text!r}")


def moment(text: str) -> datetime:
    """A time: ISO 8601, in the zone of this machine where it names none; or ``+2h`` from now, ``-2h`` ago.

    Raises OptionError.
    """
    try:
        if text[:1] in ("+", "-"):
            away = duration(text[1:])
            return now() + away if text[0] == "+" else now() - away
        # Without a zone, the machine's own is meant.
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise OptionError(f"a time is like 2027-01-31T09:00, +2h (from now) or -2h (ago), got {text!r}") from None


def shown(at: datetime | None, *, as_of: datetime | None = None) -> str:
    """A time in the zone of this machine, and how far away it is; a dash for none."""
    if at is None:
        return NO_TIME
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S} ({relative(at, as_of=as_of)})"


def relative(at: datetime, *, as_of: datetime | None = None) -> str:
    """How far a time is away: ``in 29 min``, ``41 s ago``, ``now``."""
    seconds = (at - (as_of or now())).total_seconds()
    if abs(seconds) < 1:
        return "now"
    amount = span(abs(seconds))
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def span(seconds: float) -> str:
    """So many seconds in the unit in which they are best read."""
    for below, size, unit in _STEPS:
        if seconds < below:
            return f"{round(seconds / size):,} {unit}"
    raise AssertionError("the last step has no end")
