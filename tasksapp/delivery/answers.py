"""What a receiver's answer means: its status code, and the headers by which it steers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from tasksapp.delivery.callback import Target
from tasksapp.delivery.outcomes import CallbackOutcome, Delivered, Failure, GiveUp, Retry, Snooze, http_failure

#: ``done``, ``fail``, ``retry`` or ``snooze`` (with Next-In), or ``cancel-others``; overrides the status code.
ACTION = "DelayHub-Action"
#: Seconds until the next attempt.
NEXT_IN = "DelayHub-Next-In"

_GONE = 410


def judge(target: Target, status_code: int, headers: Mapping[str, str], *, now_ms: int) -> CallbackOutcome:
    """What becomes of a callback that was answered."""
    after_seconds = _seconds(headers.get(NEXT_IN, ""))
    if after_seconds is None:
        after_seconds = retry_after_seconds(headers.get("Retry-After", ""), now_ms=now_ms)
    match headers.get(ACTION, "").strip().lower():
        case "done":
            return Delivered()
        case "cancel-others":
            return Delivered(cancel_others=True)
        case "fail":
            return GiveUp("the receiver said: fail")
        case "snooze":
            return Snooze("the receiver said: snooze", after_seconds)
        case "retry":
            return Retry("the receiver said: retry", after_seconds, kind=Failure.ASKED)
    return _judge_status(target, status_code, after_seconds)


def _judge_status(target: Target, status_code: int, after_seconds: float | None) -> CallbackOutcome:
    if 200 <= status_code < 300:
        return Delivered()
    if status_code == _GONE or status_code in target.permanent_codes:
        return GiveUp(f"status {status_code}")
    if 300 <= status_code < 400:
        reason = f"status {status_code}: redirects are not followed"
        return Retry(reason, after_seconds, kind=http_failure(status_code))
    return Retry(f"status {status_code}", after_seconds, kind=http_failure(status_code))


def retry_after_seconds(value: str, *, now_ms: int) -> float | None:
    """The wait that a Retry-After header asks for, given as seconds or as a date; None where it makes no sense."""
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
        return max(0.0, moment.timestamp() - now_ms / 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _seconds(value: str) -> float | None:
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
