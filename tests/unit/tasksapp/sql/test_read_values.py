"""Ids and times are the same from both databases."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from tasksapp.sql.read_values import read_moment, read_uuid

AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)
ID = UUID("01980000-0000-7000-8000-000000000001")


@pytest.mark.parametrize("value", [AT, "2026-01-02 03:04:05.600000", "2026-01-02T03:04:05.6+00:00"])
def test_a_time_is_the_same_from_both_databases(value: datetime | str) -> None:
    assert read_moment(value) == AT
    assert read_moment(None) is None


@pytest.mark.parametrize("value", [ID, str(ID), ID.hex])
def test_an_id_is_the_same_from_both_databases(value: UUID | str) -> None:
    assert read_uuid(value) == ID
