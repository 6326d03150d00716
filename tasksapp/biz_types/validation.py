"""What a biz type may be as a whole: checked when a person edits it, so that no job fails for a mistake in it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from delayhub.webhooks.signature import key_of
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.models import BizType

_HEADER_NAME = re.compile(r"\A[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
#: Headers that belong to the connection or to the delivery.
RESERVED_HEADERS = frozenset(
    {
        "connection", "content-encoding", "content-length", "content-type", "cookie", "expect", "host", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "te", "traceparent", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
RESERVED_PREFIXES = ("webhook-", "delayhub-")
#: The longest wait between two attempts is a year; a job lives, and is kept, for at most ten.
LONGEST_BACKOFF_SECONDS, LONGEST_AGE = 31_536_000, timedelta(days=3_652)


def complaints(biz_type: BizType) -> dict[str, str]:
    """By field, a sentence about what is wrong with it; empty where the biz type is valid."""
    found: dict[str, str] = {}
    if biz_type.target == BizType.Target.HTTP:
        found |= _about_address(biz_type)
    elif not biz_type.task_name:
        found["task_name"] = "Name the Celery task to run."
    if (message := _about_headers(biz_type.headers)) is not None:
        found["headers"] = message
    if (message := _about_backoff_list(biz_type)) is not None:
        found["backoff_list"] = message
    codes = biz_type.permanent_status_codes
    if not isinstance(codes, list) or not all(_is_whole(code) and 100 <= code <= 599 for code in codes):
        found["permanent_status_codes"] = "This must be a list of HTTP status codes, such as [400, 404]."
    if biz_type.backoff_max_seconds < biz_type.backoff_min_seconds:
        found["backoff_max_seconds"] = "This may not be less than the shortest backoff."
    elif biz_type.backoff_max_seconds > LONGEST_BACKOFF_SECONDS:
        found["backoff_max_seconds"] = f"This may be at most a year, {LONGEST_BACKOFF_SECONDS} seconds."
    for name in ("max_age", "max_lateness", "retention"):
        value = getattr(biz_type, name)
        if value is not None and not timedelta(0) <= value <= LONGEST_AGE:
            found[name] = f"This must be from 0 to {LONGEST_AGE.days} days."
    if biz_type.lane not in options().lanes:
        lanes = ", ".join(options().lanes)
        found["lane"] = f"No worker serves this lane; DELAYHUB['LANES'] has {lanes}."
    return found


def secret_complaint(secret: str) -> str | None:
    """Why callbacks cannot be signed with that secret; None where they can be."""
    try:
        key_of(secret)
    except ValueError as error:
        return str(error)
    return None


def _about_address(biz_type: BizType) -> dict[str, str]:
    if not biz_type.url:
        return {"url": "Give the address that callbacks go to."}
    message = AddressGuard(options().allowed_networks).complaint(biz_type.url)
    return {"url": message} if message else {}


def _about_headers(headers: Any) -> str | None:
    if not isinstance(headers, dict):
        return 'This must be a JSON object, such as {"X-Team": "orders"}.'
    for name, value in headers.items():
        if not _HEADER_NAME.match(name):
            return f"{name!r} cannot be a header's name."
        if name.lower() in RESERVED_HEADERS or name.lower().startswith(RESERVED_PREFIXES):
            return f"{name} is set by the delivery itself."
        if not isinstance(value, str) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value) or not value.isascii():
            return f"The value of {name} must be one line of ASCII text."
    return None


def _about_backoff_list(biz_type: BizType) -> str | None:
    seconds = biz_type.backoff_list
    fits = isinstance(seconds, list) and all(
        isinstance(entry, (int, float)) and not isinstance(entry, bool) and 0 <= entry <= LONGEST_BACKOFF_SECONDS
        for entry in seconds
    )
    if not fits:
        return "This must be a list of seconds, such as [10, 60, 600]."
    if biz_type.backoff == BizType.Backoff.LIST and not seconds:
        return "Give at least one wait, such as [60]."
    return None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
