"""Schedule: when a series runs: by a cron expression, by an interval, or at listed times; from when, and until when."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any, Protocol

from django.utils.translation import gettext as _

from tasksapp.errors import InvalidSeries
from tasksapp.jobs.validation import EARLIEST, LATEST
from tasksapp.series.cron import Cron, cron, zone_of

#: Occurrences are so far apart at least.
SHORTEST = timedelta(seconds=1)
#: An interval is so long at most.
LONGEST = timedelta(days=3660)
#: A job is due so much later than its occurrence at most.
LONGEST_JITTER = timedelta(days=366)
#: The bounds of occurrences: with its jitter each is a moment that every time zone has a date for.
FIRST, LAST = EARLIEST, LATEST - LONGEST_JITTER
_TICK = timedelta(microseconds=1)
#: A list has so many times at most.
MOST_TIMES = 1_000
#: So many occurrences in a row show how close the closest are.
LOOKED_AT = 500


class Moments(Protocol):
    """What names moments, forwards and backwards."""

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The moments after that one, in order."""

    def before(self, moment: datetime) -> Iterator[datetime]:
        """The moments before that one, the last first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A moment each ``every``, counted from ``anchor``, which is one of them."""

    every: timedelta
    anchor: datetime

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The moments after that one, in order."""
        step = (moment - self.anchor) // self.every + 1
        while True:
            yield self.anchor + step * self.every
            step += 1

    def before(self, moment: datetime) -> Iterator[datetime]:
        """The moments before that one, the last first."""
        step = -((self.anchor - moment) // self.every) - 1
        while True:
            yield self.anchor + step * self.every
            step -= 1


@dataclass(frozen=True, slots=True)
class Times:
    """Listed moments, in order."""

    times: Sequence[datetime]

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The moments after that one, in order."""
        return (each for each in self.times if each > moment)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """The moments before that one, the last first."""
        return (each for each in reversed(self.times) if each < moment)


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The moments of a series.

    Args:
        moments: what names them.
        starts_at: none comes before.
        ends_at: none comes after.
    """

    moments: Moments
    starts_at: datetime = FIRST
    ends_at: datetime = LAST

    def after(self, moment: datetime) -> Iterator[datetime]:
        """The occurrences after that moment, in order, in UTC."""
        moment = max(moment, self.starts_at - _TICK)
        for each in _within_time(self.moments.after(moment)):
            if each > self.ends_at:
                return
            yield each

    def before(self, moment: datetime) -> Iterator[datetime]:
        """The occurrences before that moment, the last first, in UTC."""
        moment = min(moment, self.ends_at + _TICK)
        for each in _within_time(self.moments.before(moment)):
            if each < self.starts_at:
                return
            yield each

    def next(self, moment: datetime) -> datetime | None:
        """The first occurrence after that moment; None where there is none."""
        return next(self.after(moment), None)

    def shortest_gap(self, moment: datetime) -> timedelta | None:
        """The shortest time between two of the next occurrences; None where there are no two."""
        if isinstance(self.moments, Interval):
            return self.moments.every
        return min(
            (later - earlier for earlier, later in pairwise(islice(self.after(moment), LOOKED_AT))), default=None
        )


def schedule(
    *,
    cron_expression: str = "",
    time_zone: str = "UTC",
    every: timedelta | None = None,
    anchor: datetime | None = None,
    times: Sequence[str | datetime] = (),
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Schedule:
    """The schedule of these values, checked.

    Args:
        cron_expression: five fields, or six with seconds first; or
        every: how long from one to the next; or
        times: moments with time zones, in any order.
        time_zone: that of the expression.
        anchor: a moment that the interval is counted from.
        starts_at: none comes before.
        ends_at: none comes after.

    Raises InvalidSeries.
    """
    named = {"cron": bool(cron_expression), "every": every is not None, "times": bool(times)}
    given = [name for name, is_given in named.items() if is_given]
    if len(given) != 1:
        field = given[1] if given else "cron"
        text = _("give one of cron, every and times, got %(given)s") % {"given": ", ".join(given) or _("none")}
        raise InvalidSeries(field, "one_of", text)
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        raise InvalidSeries("ends_at", "too_early", _("ends_at may not be before starts_at"))
    zone_of(time_zone)
    return Schedule(
        moments=_moments(cron_expression, time_zone, every, anchor, times),
        starts_at=max(starts_at or FIRST, FIRST),
        ends_at=min(ends_at or LAST, LAST),
    )


def _moments(
    expression: str,
    time_zone: str,
    every: timedelta | None,
    anchor: datetime | None,
    times: Sequence[str | datetime],
) -> Cron | Interval | Times:
    if expression:
        return cron(expression, time_zone=time_zone)
    if every is None:
        return Times(listed(times))
    if not SHORTEST <= every <= LONGEST:
        text = _("every must be from 1 second to %(most)s days, got %(given)s") % {"most": LONGEST.days, "given": every}
        raise InvalidSeries("every", "range", text)
    if anchor is None:
        raise InvalidSeries("anchor", "required", _("an interval needs an anchor"))
    return Interval(every=every, anchor=anchor.astimezone(UTC))


def listed(times: Sequence[Any]) -> tuple[datetime, ...]:
    """The times in order, each once, in UTC. Raises InvalidSeries."""
    if len(times) > MOST_TIMES:
        text = _("times may have %(most)s at most, got %(given)s") % {"most": MOST_TIMES, "given": len(times)}
        raise InvalidSeries("times", "too_many", text)
    found = set()
    for each in times:
        try:
            moment = datetime.fromisoformat(each) if isinstance(each, str) else each
            aware = moment.tzinfo is not None and moment.utcoffset() is not None
            found.add(moment.astimezone(UTC) if aware else None)
        except (ValueError, OverflowError, AttributeError, TypeError) as error:
            text = _("times must be times in ISO 8601, got %(given)s") % {"given": f"{each!r:.80}"}
            raise InvalidSeries("times", "invalid", text) from error
    if None in found:
        raise InvalidSeries("times", "no_time_zone", _("each of times needs a time zone, such as Z"))
    return tuple(sorted(each for each in found if each is not None))


def jitter_of(series_id: int, occurrence: datetime, *, jitter: timedelta) -> timedelta:
    """How much later than the occurrence its job is due: from 0 to ``jitter``, always the same for that occurrence."""
    if not jitter:
        return timedelta(0)
    key = f"{series_id} {occurrence.astimezone(UTC).isoformat()}".encode()
    share = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) / 2**64
    return timedelta(milliseconds=int(share * jitter / timedelta(milliseconds=1)))


def _within_time(moments: Iterator[datetime]) -> Iterator[datetime]:
    """The moments, until there are none that Python can write."""
    try:
        yield from moments
    except OverflowError:
        return
