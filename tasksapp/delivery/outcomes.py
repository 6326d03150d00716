"""What can become of a callback: values, not exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tasksapp.delivery.callback import Callback


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver took it."""

    #: The receiver wants the other pending jobs of the same business key called off.
    cancel_others: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed, and may succeed later.

    Args:
        reason: a short sentence.
        after_seconds: what the receiver asked for; None for the policy's own backoff.
        unsent: whether it failed before the first byte of the request, for certain.
    """

    reason: str
    after_seconds: float | None = None
    unsent: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It failed, and would fail again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Returned:
    """It was not sent, for a reason of ours; no attempt is used."""

    reason: str
    after_seconds: float = 0.0


Outcome = Delivered | Retry | GiveUp | Returned


class Response(NamedTuple):
    """What the receiver answered, as far as it is kept."""

    status_code: int
    headers: dict[str, str]
    body: str


class Finding(NamedTuple):
    """A callback and what became of it.

    Args:
        callback: the callback.
        outcome: what became of it.
        started_ms: when the attempt began, Unix ms; 0 where it did not.
        duration_ms: how long it took.
        response: the receiver's answer, if there was one.
    """

    callback: Callback
    outcome: Outcome
    started_ms: int = 0
    duration_ms: int = 0
    response: Response | None = None

    @property
    def receiver_is_down(self) -> bool:
        """Whether it failed in a way that others to the same receiver will share."""
        down = self.response is None or self.response.status_code >= 500
        return down and isinstance(self.outcome, Retry)

    @property
    def lateness_ms(self) -> int:
        """From when the attempt should have begun to when it did."""
        return self.started_ms - self.callback.run_at_ms
