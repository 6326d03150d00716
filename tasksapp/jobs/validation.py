"""What the fields of a job may be: one table, for Python callers and the API alike.

A rule takes what a caller gave, as Python (``datetime``, ``timedelta``) or as JSON has it (ISO 8601, seconds), and
gives back the value to store, or raises :class:`InvalidJob` with the field's name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime

from tasksapp.conf import options
from tasksapp.errors import InvalidJob

MAX_BIZ_ID = 200
MAX_KEY = 200
MAX_DEPTH = 32
MAX_ATTEMPTS = 1_000
LOWEST_PRIORITY = 9
MAX_DELAY = timedelta(days=36_525)

#: A number that may not fit in 64 bits or in a double; looked at more closely where it is found.
_LONG_NUMBER = re.compile(r"[0-9]{16}")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TRACEPARENT = re.compile(r"\A(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
_CODE = re.compile(r"\A[a-z0-9][a-z0-9._-]{0,99}\Z")


def biz_type(value: Any) -> str:
    """The code of a biz type; whether there is one is for the verb to find out."""
    if not isinstance(value, str) or not _CODE.match(value):
        raise InvalidJob("biz_type", "invalid", f"biz_type must be the code of a biz type, got {_shown(value)}")
    return value


def biz_id(value: Any) -> str:
    """The business key; '' for none."""
    return _line("biz_id", "" if value is None else value, longest=MAX_BIZ_ID)


def idempotency_key(value: Any) -> str | None:
    """The caller's key for this request; None for none."""
    return _key("idempotency_key", value)


def debounce_key(value: Any) -> str:
    """The key under which a later request replaces this one while it waits; '' for none."""
    return _key("debounce_key", value) or ""


def due_at(value: Any) -> datetime | None:
    """A moment, in UTC."""
    if value is None:
        return None
    moment = value
    if isinstance(value, str) and len(value) <= 40:
        try:
            moment = parse_datetime(value)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime):
        raise InvalidJob("due_at", "invalid", f"due_at must be an ISO 8601 date and time, got {_shown(value)}")
    if moment.tzinfo is None:
        raise InvalidJob("due_at", "no_time_zone", f"due_at needs a time zone, got {_shown(value)}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidJob("due_at", "out_of_range", f"due_at is out of range: {_shown(value)}") from None


def delay(value: Any) -> timedelta | None:
    """How long from now."""
    if value is None:
        return None
    if isinstance(value, timedelta):
        wait = value
    elif _is_number(value):
        try:
            wait = timedelta(seconds=value)
        except OverflowError:
            raise _too_far("delay", value) from None
    else:
        raise InvalidJob("delay", "invalid", f"delay must be a number of seconds, got {_shown(value)}")
    if wait < timedelta(0):
        raise InvalidJob("delay", "negative", f"delay may not be negative, got {_shown(value)}")
    if wait > MAX_DELAY:
        raise _too_far("delay", value)
    return wait


def priority(value: Any) -> int | None:
    """0 (goes first) to 9; None for the biz type's own."""
    return _whole("priority", value, 0, LOWEST_PRIORITY)


def max_attempts(value: Any) -> int | None:
    """How many attempts; None for as many as the biz type says."""
    return _whole("max_attempts", value, 1, MAX_ATTEMPTS)


def traceparent(value: Any) -> str:
    """A W3C trace context to hand on; one that is malformed is dropped, as the recommendation has it."""
    return value if isinstance(value, str) and _TRACEPARENT.match(value) else ""


def version(value: Any) -> int | None:
    """The version the caller saw; None for whatever there is."""
    return _whole("version", value, 1, 2**31 - 1)


def body(value: Any) -> str:
    """Any JSON value as the exact text to be signed and sent: compact, UTF-8."""
    try:
        text = _encode(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise _unfit_body(error) from None
    if size > options().body_bytes:
        message = f"body may have {options().body_bytes} bytes as JSON, got {size}"
        raise InvalidJob("body", "too_large", message)
    # Most bodies can hold neither a deep nesting nor a bad value: only the others are walked.
    if text.count("[") + text.count("{") > MAX_DEPTH or "\\u0000" in text or _LONG_NUMBER.search(text):
        _walk(value, 1)
    return text


#: The rule of each field, by the name callers use.
RULES: Mapping[str, Callable[[Any], Any]] = {
    "biz_type": biz_type,
    "biz_id": biz_id,
    "due_at": due_at,
    "delay": delay,
    "body": body,
    "priority": priority,
    "max_attempts": max_attempts,
    "idempotency_key": idempotency_key,
    "debounce_key": debounce_key,
}


def due_time(*, due: datetime | None, wait: timedelta | None, now: datetime) -> datetime:
    """The moment a job is due: exactly one of the two says it; neither means now."""
    if due is not None and wait is not None:
        raise InvalidJob("delay", "conflict", "give due_at or delay, not both")
    if due is None:
        return now + (wait or timedelta(0))
    if due - now > MAX_DELAY:
        raise _too_far("due_at", due.isoformat())
    return due


def _key(field: str, value: Any) -> str | None:
    if value is None:
        return None
    key = _line(field, value, longest=MAX_KEY)
    if not key:
        raise InvalidJob(field, "blank", f"{field} may not be empty")
    return key


def _line(field: str, value: Any, *, longest: int) -> str:
    if not isinstance(value, str):
        raise InvalidJob(field, "invalid", f"{field} must be a string, got {_shown(value)}")
    if len(value) > longest:
        raise InvalidJob(field, "too_long", f"{field} may have {longest} characters, got {len(value)}")
    if _CONTROL.search(value) or not _is_utf8(value):
        raise InvalidJob(field, "invalid", f"{field} may not hold control characters, got {_shown(value)}")
    return value


def _whole(field: str, value: Any, least: int, most: int) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidJob(
            field, "invalid", f"{field} must be a whole number from {least} to {most}, got {_shown(value)}"
        )
    return value


def _walk(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidJob("body", "too_deep", f"body may be nested {MAX_DEPTH} levels deep")
    match value:
        case dict():
            for key, item in value.items():
                _walk(key, depth)
                _walk(item, depth + 1 if isinstance(item, (dict, list, tuple)) else depth)
        case list() | tuple():
            for item in value:
                _walk(item, depth + 1 if isinstance(item, (dict, list, tuple)) else depth)
        case str() if "\x00" in value:
            raise InvalidJob("body", "nul", "body may not hold the character NUL")
        case int() if not -(2**63) <= value < 2**64:
            raise InvalidJob("body", "number", f"body may hold whole numbers of 64 bits, got {_shown(value)}")


def _unfit_body(error: Exception) -> InvalidJob:
    if isinstance(error, RecursionError):
        return InvalidJob("body", "too_deep", f"body may be nested {MAX_DEPTH} levels deep")
    if isinstance(error, UnicodeEncodeError):
        return InvalidJob("body", "invalid", "body holds half a surrogate pair")
    return InvalidJob("body", "invalid", f"body must be a JSON value: {error}")


def _is_number(value: Any) -> bool:
    # Finite, that is; asked of floats only, for there are whole numbers too large for one.
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def _too_far(field: str, value: Any) -> InvalidJob:
    return InvalidJob(field, "too_far", f"{field} may be 100 years ahead at most, got {_shown(value)}")


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python likes to print
        text = "a huge number"
    return text if len(text) <= 80 else f"{text[:77]}..."
