"""What the database's catalogue says of its size."""

from __future__ import annotations

import pytest
from django.db import connection

from tasksapp.models import BizType
from tasksapp.sql.catalogue import read_size
from tests.job_rows import store_job


@pytest.mark.django_db
@pytest.mark.sqlite_only
def test_sqlite_knows_its_version_and_its_size() -> None:
    found = read_size(using="default")

    assert found.version.startswith("3.")
    assert found.bytes > 0
    assert (found.connections, found.tables) == (None, ())


@pytest.mark.django_db
@pytest.mark.postgresql_only
def test_postgresql_knows_its_tables_and_connections(biz_type: BizType) -> None:
    store_job(biz_type)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE delayhub_job")

    found = read_size(using="default")

    jobs = next(table for table in found.tables if table.name == "delayhub_job")
    assert (jobs.rows, jobs.bytes > 0) == (1, True)
    assert (found.connections or 0) >= 1
    assert (found.max_connections or 0) > 1
