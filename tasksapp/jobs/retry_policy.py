"""RetryPolicy: when a failed job is tried again, and when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from tasksapp.models import BizType
from tasksapp.models.job import age_used_up

#: The longest wait a receiver may ask for where no ``max_age`` bounds it.
LONGEST_RETRY_AFTER = timedelta(days=7)
#: The longest wait of all, whatever the receiver or the task asks for; no date may lie beyond the last one.
LONGEST_WAIT = timedelta(days=3_652)
#: The shortest wait of a job that is snoozed: nothing else keeps it from running all the time.
SHORTEST_SNOOZE_SECONDS = 1.0
#: A wait that a receiver asks for ends so long before the age is used up; else the last attempt could not begin.
LAST_CHANCE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Another attempt, at that moment."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No more attempts, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """When jobs of a biz type are tried again.

    Args:
        biz_type: with its backoff and bounds.
        own_attempts: a job's own number of attempts of one budget; None for the biz type's.
        expires_at: no attempt begins from then on; None for no such end.
    """

    biz_type: BizType
    own_attempts: int | None = None
    expires_at: datetime | None = None

    @property
    def max_attempts(self) -> int:
        """Attempts of one budget."""
        return self.own_attempts or self.biz_type.max_attempts

    def wait_seconds(self, failures: int) -> float:
        """The wait after so many failures (1 for the first), without jitter."""
        kind, waits = self.biz_type, self.biz_type.backoff_list
        match kind.backoff:
            case BizType.Backoff.LIST if waits:
                given: float = waits[min(failures, len(waits)) - 1]
                return given
            case BizType.Backoff.FIXED:
                wait = kind.backoff_min_seconds
            case BizType.Backoff.LINEAR:
                wait = kind.backoff_min_seconds * failures
            case _:
                wait = self._exponential(failures - 1)
        return min(wait, kind.backoff_max_seconds)

    def next_attempt(
        self,
        *,
        failures: int,
        now: datetime,
        counted_from: datetime,
        retry_after_seconds: float | None = None,
        task_wait_seconds: float | None = None,
        draw: float = 0.0,
    ) -> TryAgain | Exhausted:
        """What follows a failure that may be retried.

        Args:
            failures: attempts of this budget, all failed.
            now: when the failure was known.
            counted_from: where ``max_age`` begins: the due time, or the last redrive.
            retry_after_seconds: what the receiver asked for; never less than the backoff, nor beyond the age.
            task_wait_seconds: what the job's own task chose, in place of the backoff.
            draw: a random number from 0 to 1, for the jitter.
        """
        max_age = self.biz_type.max_age
        if failures >= self.max_attempts:
            tries = "the only attempt" if self.max_attempts == 1 else f"all {self.max_attempts} attempts"
            return Exhausted(f"{tries} failed")
        wait_seconds = self.wait_seconds(failures) * (1 + self.biz_type.jitter * draw)
        if task_wait_seconds is not None:
            wait_seconds = max(0.0, task_wait_seconds)
        wait = timedelta(seconds=min(LONGEST_WAIT.total_seconds(), wait_seconds))
        if retry_after_seconds is not None:
            longest = LONGEST_RETRY_AFTER
            if max_age is not None:
                longest = _left_of(max_age, now=now, counted_from=counted_from)
            # In seconds, and in this order: a receiver may ask for more than a timedelta holds, or for NaN.
            asked = min(longest.total_seconds(), retry_after_seconds)
            wait = max(wait, timedelta(seconds=asked))
        if age_used_up(now=now + wait, counted_from=counted_from, max_age=max_age):
            return Exhausted(f"the next attempt would come later than {max_age} after it was due")
        return self._before_it_expires(now=now, wait=wait)

    def snoozed(self, *, now: datetime, counted_from: datetime, after_seconds: float | None) -> TryAgain | Exhausted:
        """Return what follows an answer that it is too early. It uses no attempt; the age bounds it.

        Args:
            now: when the answer came.
            counted_from: where ``max_age`` begins; without one, a week begins there.
            after_seconds: what was asked for, never beyond the age; None for the first wait of the backoff.
        """
        age = self.biz_type.max_age or LONGEST_RETRY_AFTER
        longest = _left_of(age, now=now, counted_from=counted_from)
        if longest <= timedelta(0):
            return Exhausted(f"snoozed until {age} after it was due")
        asked = self.wait_seconds(1) if after_seconds is None else after_seconds
        wait = timedelta(seconds=min(longest.total_seconds(), max(SHORTEST_SNOOZE_SECONDS, asked)))
        return self._before_it_expires(now=now, wait=wait)

    def _before_it_expires(self, *, now: datetime, wait: timedelta) -> TryAgain | Exhausted:
        if self.expires_at is not None and now + wait >= self.expires_at:
            return Exhausted("the next attempt would come after it expires")
        return TryAgain(now + wait)

    def _exponential(self, steps: int) -> float:
        kind = self.biz_type
        most = kind.backoff_max_doublings
        doublings = steps if most is None else min(steps, most)
        try:
            grown = kind.backoff_min_seconds * kind.backoff_factor**doublings
        except OverflowError:
            return kind.backoff_max_seconds if kind.backoff_min_seconds else 0.0
        return grown * (1 + steps - doublings)


def _left_of(age: timedelta, *, now: datetime, counted_from: datetime) -> timedelta:
    """Return how long the next attempt may wait, so that it can still begin."""
    left = min(age, LONGEST_WAIT) - (now - counted_from) - LAST_CHANCE
    return min(left, LONGEST_WAIT)  # a job that was run early may be due at the end of the calendar


class GivesUp(Enum):
    """What ends the attempts."""

    ATTEMPTS = "all attempts are used up"
    AGE = "the next attempt would come after the job's age is used up"
    EITHER = "the age ends them, or the number of attempts, as the jitter falls"


class ScheduledAttempt(NamedTuple):
    """One attempt, in seconds. The least is without jitter, the most with all of it.

    Args:
        number: from 1.
        wait_least: the wait before it; 0 for the first.
        wait_most: the same, with all the jitter.
        after_least: how long after the first attempt it begins.
        after_most: the same, where every wait before it had all its jitter.
        is_certain: whether it comes however the jitter falls; not where ``max_age`` may end the attempts before it.
    """

    number: int
    wait_least: float
    wait_most: float
    after_least: float
    after_most: float
    is_certain: bool


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """The attempts of one budget, as long as all of them fail.

    The first attempt begins on time, and the attempts take no time themselves; a receiver asks for no wait of its own.
    """

    attempts: tuple[ScheduledAttempt, ...]
    gives_up: GivesUp
    max_age: timedelta | None = None

    @property
    def last(self) -> ScheduledAttempt:
        """The last attempt that can come."""
        return self.attempts[-1]

    @property
    def fewest(self) -> int:
        """How many attempts come however the jitter falls."""
        return sum(attempt.is_certain for attempt in self.attempts)

    @property
    def latest_seconds(self) -> float:
        """How long after the first attempt the last one begins, at the most."""
        latest = self.last.after_most
        return latest if self.max_age is None else min(latest, self.max_age.total_seconds())


def schedule_of(policy: RetryPolicy) -> RetrySchedule:
    """When the attempts of a policy begin, if each of them fails."""
    attempts = [ScheduledAttempt(1, 0.0, 0.0, 0.0, 0.0, is_certain=True)]
    while attempts[-1].number < policy.max_attempts:
        following = _following(attempts[-1], policy)
        if _is_too_late(following.after_least, policy):
            break
        attempts.append(following)
    return RetrySchedule(tuple(attempts), _end(attempts, policy), policy.biz_type.max_age)


def _following(before: ScheduledAttempt, policy: RetryPolicy) -> ScheduledAttempt:
    longest = LONGEST_WAIT.total_seconds()
    least = policy.wait_seconds(before.number)
    most = min(longest, least * (1 + policy.biz_type.jitter))
    least = min(longest, least)
    after_least, after_most = before.after_least + least, before.after_most + most
    return ScheduledAttempt(
        before.number + 1, least, most, after_least, after_most, is_certain=not _is_too_late(after_most, policy)
    )


def _is_too_late(after_seconds: float, policy: RetryPolicy) -> bool:
    """The rule of ``age_used_up``, in seconds: a thousand waits of ten years end after the last date there is."""
    max_age = policy.biz_type.max_age
    return max_age is not None and after_seconds > max_age.total_seconds()


def _end(attempts: list[ScheduledAttempt], policy: RetryPolicy) -> GivesUp:
    if attempts[-1].number < policy.max_attempts:
        return GivesUp.AGE
    return GivesUp.ATTEMPTS if attempts[-1].is_certain else GivesUp.EITHER
