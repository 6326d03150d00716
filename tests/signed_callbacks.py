"""Callbacks as receivers get them: signed headers, by Standard Webhooks."""

from __future__ import annotations

import itertools

from delayhub.clock import SystemClock
from delayhub.webhooks.signature import new_secret, sign

SECRET = new_secret()
CLOCK = SystemClock()
_numbers = itertools.count(1)


def fresh_id() -> str:
    """An id that no other callback of this process has."""
    return f"job-{next(_numbers)}"


def signed(id_: str, *, body: bytes = b"{}", ago: int = 0, secret: str = SECRET, **headers: str) -> dict[str, str]:
    """The headers of a callback, signed so many seconds ago; names of further ones have underscores for dashes."""
    timestamp = CLOCK.now_ms() // 1000 - ago
    return {
        "Content-Type": "application/json",
        "Webhook-Id": id_,
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": sign([secret], message_id=id_, timestamp=timestamp, body=body),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
