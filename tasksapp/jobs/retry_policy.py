"""When a failed job is tried again, and when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tasksapp.models import BizType

#: The longest wait a receiver may ask for where no ``max_age`` bounds it.
LONGEST_RETRY_AFTER = timedelta(days=7)
#: The longest wait of all, whoever asks for it, and the longest age that counts: dates have an end.
LONGEST_WAIT = timedelta(days=3_652)
#: A wait that a receiver asks for ends so much before the age is used up, or the last attempt could not begin.
LAST_CHANCE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TryAgain:
    """One more attempt, at that moment."""

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
        max_seconds: no wait of the first three kinds is longer, before jitter.
        factor: what an exponential wait is multiplied with.
        max_doublings: after so many multiplications it grows by its last step instead; None for no end.
        waits: the seconds of a list; its last repeats.
        jitter: up to this share is added to each wait.
        max_attempts: attempts of one budget.
        max_age: no attempt begins later after the due time, or after a redrive.
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

    @classmethod
    def of(cls, biz_type: BizType, *, max_attempts: int | None = None) -> RetryPolicy:
        """The policy of a biz type, with a job's own number of attempts where it has one."""
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
        own_wait_seconds: float | None = None,
        draw: float = 0.0,
    ) -> TryAgain | Exhausted:
        """What follows a failure that may be retried.

        Args:
            failures: attempts of this budget, all failed.
            now: when the failure was known.
            counted_from: where ``max_age`` begins: the due time, or the last redrive.
            retry_after_seconds: what the receiver asked for; it counts between the backoff and the age's end.
            own_wait_seconds: what the job's own task chose, in place of the backoff.
            draw: a random number from 0 to 1, for the jitter.
        """
        if failures >= self.max_attempts:
            return Exhausted(f"all {self.max_attempts} attempts failed")
        wait_seconds = self.wait_seconds(failures) * (1 + self.jitter * draw)
        if own_wait_seconds is not None:
            wait_seconds = max(0.0, own_wait_seconds)
        wait = timedelta(seconds=min(LONGEST_WAIT.total_seconds(), wait_seconds))
        deadline = None if self.max_age is None else counted_from + min(self.max_age, LONGEST_WAIT)
        if retry_after_seconds is not None:
            longest = LONGEST_RETRY_AFTER if deadline is None else deadline - LAST_CHANCE - now
            # As seconds, and this way round: a receiver may ask for more than a timedelta holds, or for NaN.
            asked = min(longest.total_seconds(), retry_after_seconds)
            wait = max(wait, timedelta(seconds=asked))
        if deadline is not None and now + wait > deadline:
            return Exhausted(f"the next attempt would come later than {self.max_age} after it was due")
        return TryAgain(now + wait)

    def _exponential(self, steps: int) -> float:
        doublings = steps if self.max_doublings is None else min(steps, self.max_doublings)
        try:
            grown = self.min_seconds * self.factor**doublings
        except OverflowError:
            return self.max_seconds
        return grown * (1 + steps - doublings)


def age_used_up(*, now: datetime, counted_from: datetime, max_age: timedelta | None) -> bool:
    """Whether no attempt may begin any more."""
    return max_age is not None and now - counted_from > max_age
