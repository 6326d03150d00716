"""Rows of new jobs as statements write them: each column has its place, and each place its value."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection

from tasksapp.models import Job, NewJob
from tasksapp.sql import insert_jobs as new_rows
from tasksapp.sql.insert_jobs import parameters

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DUE = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
ROW = NewJob(id=UUID(int=7), biz_type_id=3, due_at=DUE, priority=2, biz_id="42")


def test_every_column_of_the_model_is_given_constant_null_or_the_databases_own() -> None:
    columns = {field.attname for field in Job._meta.concrete_fields}
    null = {field.attname for field in Job._meta.concrete_fields if field.null}
    own = {field.attname for field in Job._meta.concrete_fields if field.has_db_default()}

    written = set(new_rows.COLUMNS.split(", "))

    assert written <= columns
    assert columns - written <= null | own


def test_a_row_has_a_place_for_each_column() -> None:
    assert new_rows.ROW.count(",") == new_rows.NUMBERED_ROW.count(",") == new_rows.COLUMNS.count(",")
    assert new_rows.ROW.count("%s") == len(new_rows.GIVEN)
    assert f"${len(new_rows.GIVEN)}" in new_rows.NUMBERED_ROW


def test_what_a_replacement_takes_leaves_the_job_the_same_one() -> None:
    assert {"id", "biz_type_id", "debounce_key", "created_at", "created_by"}.isdisjoint(new_rows.REPLACED)
    assert {"due_at", "next_run_at", "body", "priority"} <= set(new_rows.REPLACED)


@pytest.mark.parametrize("count", [1, 3])
def test_parameters_follow_the_places_row_by_row(count: int) -> None:
    values = parameters([ROW] * count, now=NOW, connection=connection, created_by="api:shop")

    assert len(values) == count * len(new_rows.GIVEN)
    first = dict(zip(new_rows.GIVEN, values, strict=False))
    assert (first["biz_type_id"], first["priority"], first["biz_id"], first["body"]) == (3, 2, "42", "null")
    assert first["next_run_at"] == first["due_at"]
    assert first["created_at"] == first["updated_at"]
    assert first["created_by"] == "api:shop"
    assert "2026-01-02" in str(first["due_at"])
    assert "678901" in str(first["due_at"])
