"""Which requests are repeated, and after how long a pause."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from delayhub.client.errors import ApiError, Conflict, NoRoomToWait, RateLimited, ServerUnavailable, Unreachable

#: The longest pause before the first repetition, in seconds; it doubles with each.
FIRST_PAUSE = 0.5
#: The longest pause that is not asked for by the site.
LONGEST_PAUSE = 8.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrying:
    """When a request is sent again.

    A request that certainly did nothing (no connection, refused as too many, or ended since what it needed stayed
    locked) is repeated, whatever it asks for. One that may have done something is repeated only where doing it twice is
    the same as doing it once: reads, and what carries an idempotency key.

    Args:
        retries: how often, at most.
        most_wait_seconds: the longest pause that the site may ask for.
    """

    retries: int
    most_wait_seconds: float

    def pause(self, error: ApiError, *, repeatable: bool, failures: int) -> float | None:
        """The seconds before the request is sent again; None where the error is to be raised.

        Args:
            error: what came of the last attempt.
            repeatable: whether doing it twice is the same as doing it once.
            failures: how many attempts have failed so far.
        """
        if failures > self.retries or not _may_repeat(error, repeatable=repeatable):
            return None
        asked = getattr(error, "retry_after", None)
        if asked is None:
            # Full jitter: callers that failed together do not come back together.
            return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1)))  # noqa: S311  no secret
        return None if asked > self.most_wait_seconds else asked + random.uniform(0, FIRST_PAUSE)  # noqa: S311  as above


def _may_repeat(error: ApiError, *, repeatable: bool) -> bool:
    match error:
        case NoRoomToWait():  # who asked does better than to wait for a place to wait in
            return False
        case RateLimited() | ServerUnavailable(code="database_locked"):  # the change was not made
            return True
        case Unreachable(was_sent=was_sent):
            return repeatable or not was_sent
        case ServerUnavailable():
            return repeatable
        case Conflict(code="idempotency_key_in_use"):  # the first request with the key is still under way
            return True
    return False


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait that an answer names in ``Retry-After``, else in ``RateLimit``; None where it names none."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        # A proxy may name a moment. The answer's own Date is subtracted, so that clocks need not agree.
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (KeyError, TypeError, ValueError):
        return exhausted_for(headers)


def exhausted_for(headers: Mapping[str, str]) -> float | None:
    """The seconds until a limit that is used up is renewed, from ``RateLimit: "name";r=0;t=30``; None where none is."""
    waits = []
    for policy in headers.get("RateLimit", "").split(","):
        values = dict(part.strip().partition("=")[::2] for part in policy.split(";")[1:])
        if values.get("r") == "0" and values.get("t", "").isdigit():
            waits.append(float(values["t"]))
    return max(waits, default=None)
