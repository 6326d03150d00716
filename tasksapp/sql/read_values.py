"""What the drivers of the two databases give for an id and for a time: SQLite keeps both as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload
from uuid import UUID


def read_uuid(value: UUID | str) -> UUID:
    """An id as a database's driver gives it."""
    return value if isinstance(value, UUID) else UUID(value)


@overload
def read_moment(value: datetime | str) -> datetime: ...
@overload
def read_moment(value: datetime | str | None) -> datetime | None: ...
def read_moment(value: datetime | str | None) -> datetime | None:
    """A time as a database's driver gives it, in UTC; None for None."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
