"""Definition: a periodic entry as this process has it, and the state that follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, NamedTuple

from celery import schedules
from celery.beat import BeatLazyFunc

from delayhub.beat.left_out import Never, Unfit
from delayhub.beat.schedule_times import interval_ms, missed_ms, next_ms
from delayhub.clock import LAST_MS, runnable_ms
from delayhub.cron_steps import idle_step
from delayhub.engine.occurrences import LEFT_OUT, PeriodicEntry
from delayhub.errors import OptionError

#: An occurrence that is later than this was missed; others are only late, and each is published.
MISSED_AFTER_MS = 10_000
#: Missed occurrences that are made up for at most; the older ones are left out.
MOST_MADE_UP = 100


class Missed(StrEnum):
    """What is done about missed occurrences."""

    ONCE = "once"
    """One message for all of them."""
    ALL = "all"
    """A message for each of the last 100."""
    SKIP = "skip"
    """None."""

    @classmethod
    def of(cls, value: object) -> Missed:
        """The policy of that name.

        Raises:
            OptionError: there is none.
        """
        try:
            return cls(str(value))
        except ValueError:
            raise OptionError(f"beat_missed must be once, all or skip, got {value!r}") from None


class Turn(NamedTuple):
    """What to do about the occurrence that is due: publish it for that nominal time (0: not at all), then go on."""

    nominal_ms: int
    next_ms: int


def turn(
    due_ms: int,
    now_ms: int,
    *,
    policy: Missed,
    following: Callable[[int], int],
    missed: Callable[[], Sequence[int]],
    deadline_ms: int | None = None,
) -> Turn:
    """What to do about an occurrence.

    Args:
        due_ms: when it was due.
        now_ms: the time.
        policy: what is done about missed ones.
        following: the occurrence after a time; 0 for none.
        missed: the last occurrences from the one that is due until now.
        deadline_ms: how late a missed one may be published at all; None for any lateness.
    """
    if now_ms - due_ms <= MISSED_AFTER_MS:
        return Turn(due_ms, following(due_ms))
    times = missed()
    latest = times[-1]
    if policy is Missed.ALL:
        return Turn(times[0], following(times[0]))
    most_late = MISSED_AFTER_MS if policy is Missed.SKIP else deadline_ms
    is_too_late = most_late is not None and now_ms - latest > most_late
    return Turn(0 if is_too_late else latest, following(latest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a table says of an entry beside its schedule. Times are Unix ms; 0 for none.

    Args:
        starts_ms: no occurrence before it; intervals are counted from it.
        ends_ms: no occurrence from it on.
        edited_ms: when the entry was changed last.
        last_ms: when it ran last, for entries that have no state yet.
        runs_once: whether it ends with its first occurrence.
    """

    starts_ms: int = 0
    ends_ms: int = 0
    edited_ms: int = 0
    last_ms: int = 0
    runs_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A periodic entry as this process has it.

    Args:
        entry: Celery's.
        program: the app's name, since several apps may share a broker; '' for none.
        lane: the queue that it publishes to.
        zone: the app's time zone.
        policy: what becomes of missed occurrences.
        deadline_ms: how late a missed one may be published; None for any lateness.
        bounds: what a table says of it.
    """

    entry: Any
    lane: str
    zone: tzinfo
    program: str = ""
    policy: Missed = Missed.ONCE
    deadline_ms: int | None = None
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def name(self) -> str:
        """The entry's name on the broker."""
        return f"{self.program}/{self.entry.name}" if self.program else str(self.entry.name)

    @property
    def grid(self) -> str:
        """The fingerprint of what decides its times."""
        bounds = self.bounds
        edition = bounds.edited_ms if bounds.runs_once else 0  # one that ran and is enabled again runs again
        times = schedule_parts(self.entry.schedule)
        return fingerprint(times, bounds.starts_ms, bounds.ends_ms, bounds.runs_once, edition)

    @property
    def print(self) -> str:
        """The fingerprint of all of it."""
        entry = self.entry
        content = (entry.task, entry.args, entry.kwargs, entry.options)
        return fingerprint(self.grid, self.lane, self.bounds.edited_ms, *content)

    def plan(self, known: PeriodicEntry | None, *, now_ms: int, since_ms: int = 0) -> PeriodicEntry:
        """The entry's state, from the one before it, which had another definition or is none.

        One whose times did not change keeps its next occurrence. A row that was edited after that was due for long was
        disabled meanwhile: nothing of that time is made up for.

        Args:
            known: the state before it.
            now_ms: the time.
            since_ms: when it was seen to be enabled again; 0: it was not disabled, as far as this beat knows.
        """
        own = PeriodicEntry(
            print=self.print, grid=self.grid, task=str(self.entry.task), words=schedule_words(self.entry.schedule)
        )
        bounds = self.bounds
        if known is None:
            since = min(bounds.last_ms or bounds.edited_ms or now_ms, now_ms)
            anchor = bounds.starts_ms or since
            return replace(own, anchor=anchor, last=bounds.last_ms, next=self._next(since, anchor_ms=anchor))
        if known.grid == own.grid:
            following, edited_ms = known.next, max(bounds.edited_ms, since_ms)
            if following and edited_ms > following + MISSED_AFTER_MS:
                following = self._next(edited_ms, anchor_ms=known.anchor)
            own = replace(own, last=known.last, count=known.count, ran=known.ran)
            return replace(own, anchor=known.anchor, next=following)
        since = max(bounds.edited_ms, known.last, known.seen, since_ms) or now_ms
        anchor = bounds.starts_ms or known.last or since
        following = self._next(since, anchor_ms=anchor)
        return replace(own, anchor=anchor, next=following, last=known.last, count=known.count)

    def check(self, *, now_ms: int, shortest_ms: int) -> None:
        """Raise whatever keeps the entry from being published: that is raised again where it is.

        Args:
            now_ms: the time.
            shortest_ms: the shortest interval.

        Raises:
            Unfit: its interval is shorter, or its crontab names no time.
        """
        schedule = self.entry.schedule
        length: Any = getattr(schedule, "run_every", None)
        if type(schedule) is schedules.schedule and length < timedelta(milliseconds=shortest_ms):
            seconds = f"{length.total_seconds():g}"
            raise Unfit(f"an interval must be at least {shortest_ms / 1000:g} s, got {seconds} s")
        if isinstance(schedule, schedules.crontab) and next_ms(schedule, now_ms, anchor_ms=0, zone=self.zone) is None:
            raise Unfit(f"{schedule_words(schedule)} names no time in the next nine years")
        self.plan(None, now_ms=now_ms)

    @property
    def doubt(self) -> str:
        """A warning about a schedule that Celery runs but that is probably a mistake; '' for none."""
        kind, *rest = schedule_parts(self.entry.schedule)
        term = idle_step(rest[0]) if kind == "crontab" else None
        return f"the step of {term} is larger than what it counts through" if term else ""

    def turn(self, known: PeriodicEntry, *, now_ms: int) -> Turn:
        """What to do about the occurrence that is due."""

        def following(after_ms: int) -> int:
            return 0 if self.bounds.runs_once else self._next(after_ms, anchor_ms=known.anchor)

        def missed() -> list[int]:
            if self.bounds.runs_once:
                return [known.next]
            times = self.entry.schedule, known.next, now_ms
            return missed_ms(*times, anchor_ms=known.anchor, zone=self.zone, most=MOST_MADE_UP)

        if 0 < self.bounds.ends_ms <= now_ms:
            return Turn(0, 0)
        return turn(
            known.next,
            now_ms,
            policy=self.policy,
            following=following,
            missed=missed,
            deadline_ms=self.deadline_ms,
        )

    def _next(self, after_ms: int, *, anchor_ms: int) -> int:
        bounds, schedule = self.bounds, self.entry.schedule
        if schedule_parts(schedule)[0] == "clocked":
            following = schedule_parts(schedule)[1]  # also where it is over: it has not run yet
        else:
            after = max(after_ms, bounds.starts_ms - 1)
            try:
                following = next_ms(schedule, after, anchor_ms=anchor_ms, zone=self.zone)
            except OverflowError:  # the calendar ends before
                return 0
        if following is None or following > LAST_MS or (bounds.ends_ms and following >= bounds.ends_ms):
            return 0
        return int(following)


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
        case "left out":
            return f"{LEFT_OUT}{rest[0]}"
    return str(kind)


def schedule_parts(schedule: Any) -> list[Any]:
    """What decides the times of a schedule."""
    if isinstance(schedule, Never):
        return ["left out", schedule.reason]
    if isinstance(schedule, schedules.crontab):
        names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        fields = [str(getattr(schedule, f"_orig_{name}")).replace(" ", "") for name in names]
        return ["crontab", fields, str(schedule.tz)]
    if isinstance(schedule, schedules.solar):
        return ["solar", schedule.event, str(schedule.lat), str(schedule.lon)]
    if isinstance(getattr(schedule, "clocked_time", None), datetime):
        return ["clocked", max(1, runnable_ms(schedule.clocked_time))]  # 0 is never
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
