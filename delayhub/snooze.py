"""Snooze: not yet, says the task or the handler of a puller. No attempt is used."""

from __future__ import annotations

from delayhub.errors import DelayHubError


class Snooze(DelayHubError):
    """Raised by a job's task or a puller's handler: it is too early. The job runs again, and no attempt is used.

    The biz type's ``max_age`` bounds it. Without one, a task can snooze its job for a week after the due time.

    Args:
        seconds: how long to wait.
        reason: why, for people.
    """

    def __init__(self, seconds: float, *, reason: str = "not yet") -> None:
        super().__init__(reason)
        self.seconds = seconds

    def __reduce__(self) -> tuple[object, ...]:
        """Return how it is pickled, as Celery's pools do: an exception's own way knows no arguments by name."""
        return _made, (self.seconds, str(self))


def _made(seconds: float, reason: str) -> Snooze:
    return Snooze(seconds, reason=reason)
