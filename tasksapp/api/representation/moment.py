"""How a time looks from outside."""

from __future__ import annotations

from datetime import datetime


def moment(value: datetime | None) -> str | None:
    """A time as ISO 8601 in UTC, to the microsecond."""
    return None if value is None else value.isoformat().replace("+00:00", "Z")
