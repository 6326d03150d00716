"""RetrySchedule: when a job that keeps failing is tried, from its first attempt to the last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import NamedTuple

from tasksapp.jobs.retry_policy import LONGEST_WAIT, RetryPolicy


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
    return RetrySchedule(tuple(attempts), _end(attempts, policy), policy.max_age)


def _following(before: ScheduledAttempt, policy: RetryPolicy) -> ScheduledAttempt:
    longest = LONGEST_WAIT.total_seconds()
    least = policy.wait_seconds(before.number)
    most = min(longest, least * (1 + policy.jitter))
    least = min(longest, least)
    after_least, after_most = before.after_least + least, before.after_most + most
    return ScheduledAttempt(
        before.number + 1, least, most, after_least, after_most, is_certain=not _is_too_late(after_most, policy)
    )


def _is_too_late(after_seconds: float, policy: RetryPolicy) -> bool:
    """The rule of ``age_used_up``, in seconds: a thousand waits of ten years end after the last date there is."""
    return policy.max_age is not None and after_seconds > policy.max_age.total_seconds()


def _end(attempts: list[ScheduledAttempt], policy: RetryPolicy) -> GivesUp:
    if attempts[-1].number < policy.max_attempts:
        return GivesUp.AGE
    return GivesUp.ATTEMPTS if attempts[-1].is_certain else GivesUp.EITHER
