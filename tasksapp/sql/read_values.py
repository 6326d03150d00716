"""What the drivers of the two databases give for an id and for a time: SQLite keeps both as text.

Moments also as whole microseconds: reading one that comes as text takes Python 8 µs, as much as claiming its row.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, overload
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


_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unix_microseconds(expression: str) -> str:
    """PostgreSQL's expression for a moment as µs since 1970."""
    return f"(extract(epoch FROM {expression}) * 1000000)::bigint"


def from_unix_microseconds(unix_us: int) -> datetime:
    """The moment that is so many µs after 1970."""
    return _UNIX_EPOCH + timedelta(microseconds=unix_us)


def to_unix_microseconds(moment: datetime) -> int:
    """How many µs after 1970 a moment is."""
    return (moment - _UNIX_EPOCH) // timedelta(microseconds=1)


class Moments(dict[int | None, Any]):
    """Moments by their µs since 1970; None for None. Each is made once: most rows of a claim share theirs."""

    def __missing__(self, unix_us: int | None) -> datetime | None:
        moment = None if unix_us is None else from_unix_microseconds(unix_us)
        self[unix_us] = moment
        return moment
