"""How a moment looks from outside."""

from __future__ import annotations

from datetime import datetime


def timestamp(moment: datetime | None) -> str | None:
    """A moment as ISO 8601 in UTC, to the microsecond."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
