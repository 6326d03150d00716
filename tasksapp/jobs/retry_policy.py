"""RetryPolicy: when a failed job is tried again, and when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tasksapp.models import BizType
from tasksapp.models.job import age_used_up

#: The longest wait a receiver may ask for where no ``max_age`` bounds it.
LONGEST_RETRY_AFTER = timedelta(days=7)
#: The longest wait of all, whatever the receiver or the task asks for; no date may lie beyond the last one.
LONGEST_WAIT = timedelta(days=3_652)
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
    """A biz type's backoff and bounds.

    Args:
        backoff: fixed, linear, exponential or list.
        min_seconds: the first wait; the step of a linear one.
        max_seconds: the longest wait of the first three kinds, before jitter.
        factor: what an exponential wait is multiplied by.
        max_doublings: after so many multiplications it grows by its last step instead; None for no limit.
        waits: the seconds of a list; its last repeats.
        jitter: up to this share is added to each wait.
        max_attempts: attempts of one budget.
        max_age: no attempt begins later after the due time, or after a redrive.
        expires_at: no attempt begins from then on; None for no such end.
    """

    backoff: str
    min_seconds: float
    max_seconds: float
    factor: float = 2.0
    max_doublings: int | None = None
    waits: tuple[float, ...] = ()
    jitter: float = 0.0
    max_attempts: int = 16
    max_age: timedelta | None = None
    expires_at: datetime | None = None

    @classmethod
    def of(
        cls, biz_type: BizType, *, max_attempts: int | None = None, expires_at: datetime | None = None
    ) -> RetryPolicy:
        """The policy of a biz type, with a job's own number of attempts and its own end where it has them."""
        return cls(
            backoff=biz_type.backoff,
            min_seconds=biz_type.backoff_min_seconds,
            max_seconds=biz_type.backoff_max_seconds,
            factor=biz_type.backoff_factor,
            max_doublings=biz_type.backoff_max_doublings,
            waits=tuple(biz_type.backoff_list),
            jitter=biz_type.jitter,
            max_attempts=max_attempts or biz_type.max_attempts,
            max_age=biz_type.max_age,
            expires_at=expires_at,
        )

    def wait_seconds(self, failures: int) -> float:
        """The wait after so many failures (1 for the first), without jitter."""
        match self.backoff:
            case "list" if self.waits:
                return self.waits[min(failures, len(self.waits)) - 1]
            case "fixed":
                wait = self.min_seconds
            case "linear":
                wait = self.min_seconds * failures
            case _:
                wait = self._exponential(failures - 1)
        return min(wait, self.max_seconds)

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
        if failures >= self.max_attempts:
            tries = "the only attempt" if self.max_attempts == 1 else f"all {self.max_attempts} attempts"
            return Exhausted(f"{tries} failed")
        wait_seconds = self.wait_seconds(failures) * (1 + self.jitter * draw)
        if task_wait_seconds is not None:
            wait_seconds = max(0.0, task_wait_seconds)
        wait = timedelta(seconds=min(LONGEST_WAIT.total_seconds(), wait_seconds))
        if retry_after_seconds is not None:
            longest = LONGEST_RETRY_AFTER
            if self.max_age is not None:
                longest = min(self.max_age, LONGEST_WAIT) - (now - counted_from) - LAST_CHANCE
            # In seconds, and in this order: a receiver may ask for more than a timedelta holds, or for NaN.
            asked = min(longest.total_seconds(), retry_after_seconds)
            wait = max(wait, timedelta(seconds=asked))
        if age_used_up(now=now + wait, counted_from=counted_from, max_age=self.max_age):
            return Exhausted(f"the next attempt would come later than {self.max_age} after it was due")
        if self.expires_at is not None and now + wait >= self.expires_at:
            return Exhausted("the next attempt would come after it expires")
        return TryAgain(now + wait)

    def _exponential(self, steps: int) -> float:
        doublings = steps if self.max_doublings is None else min(steps, self.max_doublings)
        try:
            grown = self.min_seconds * self.factor**doublings
        except OverflowError:
            return self.max_seconds
        return grown * (1 + steps - doublings)
