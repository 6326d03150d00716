"""Rows of jobs as a history sees them, read by a statement of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """One row; times are Unix ms, and 0 where there is none."""

    id: str
    biz_type_id: int
    biz_id: str
    status: str
    created_ms: int
    due_ms: int
    next_run_ms: int
    attempts: int
    attempt_base: int
    redrives: int
    redriven_ms: int
    expires_ms: int
    system_errors: int
    version: int
    lease_ms: int
    token: int | None
    operation_id: int | None
    finished_ms: int
    priority: int
    debounce_key: str
    live_key: str | None
    flow_key: str
    place: int | None
    body: str

    @property
    def attempts_used(self) -> int:
        """Attempts of the present budget."""
        return self.attempts - self.attempt_base

    @property
    def waits(self) -> bool:
        """Whether it waits for the end of another of its biz id, and has not begun."""
        return bool(self.live_key) and self.live_key != self.biz_id

    @property
    def follows(self) -> str:
        """The job that this one follows; '' for none."""
        return str(self.followed.get("id", ""))

    @property
    def followed(self) -> dict[str, Any]:
        """What it says of the job that it follows."""
        body = json.loads(self.body)
        return body["follows"] if isinstance(body, dict) and "follows" in body else {}


_TIMES = {"created_ms": "created_at", "due_ms": "due_at", "next_run_ms": "next_run_at",
          "redriven_ms": "redriven_at", "expires_ms": "expires_at",
          "lease_ms": "lease_until", "finished_ms": "finished_at"}  # fmt: skip
_OTHERS = {"token": "lease_token"}
_COLUMNS = ", ".join(_TIMES.get(name, _OTHERS.get(name, name)) for name in Row._fields)
_MOMENTS = [place for place, name in enumerate(Row._fields) if name in _TIMES]


class Rows:
    """All rows of jobs, read again after each verb.

    Args:
        using: the database.
    """

    def __init__(self, using: str) -> None:
        self._using = using
        self._read: dict[Any, tuple[Any, ...]] = {}
        self.by_id: dict[str, Row] = {}

    def read(self) -> dict[str, tuple[Row | None, Row]]:
        """By id, what has changed since the last time: before and after; None where it is new. A lost row is told."""
        with connections[self._using].cursor() as cursor:
            cursor.execute(f"SELECT {_COLUMNS} FROM delayhub_job ORDER BY id")
            found = {values[0]: tuple(values) for values in cursor.fetchall()}
        changed: dict[str, tuple[Row | None, Row]] = {}
        for key, values in found.items():
            if self._read.get(key) != values:
                row = _row(values)
                changed[row.id] = self.by_id.get(row.id), row
                self.by_id[row.id] = row
        self._read = found
        return changed


def _row(values: tuple[Any, ...]) -> Row:
    columns = list(values)
    columns[0] = _name(columns[0])
    for place in _MOMENTS:
        columns[place] = _ms(columns[place])
    return Row(*columns)


@lru_cache(maxsize=4096)
def _name(value: Any) -> str:
    return str(value if isinstance(value, UUID) else UUID(value))


@lru_cache(maxsize=4096)
def _ms(value: Any) -> int:
    if value is None:
        return 0
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
