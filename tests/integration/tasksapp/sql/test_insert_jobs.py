"""Jobs on their way into PostgreSQL: one by INSERT, many by COPY."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.utils import timezone

from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.models import BizType, Job, NewJob
from tasksapp.models.job_id import new_job_id
from tasksapp.sql.insert_jobs import insert_jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]


def test_what_is_odd_is_stored_as_it_is(biz_type: BizType) -> None:
    made = create("order.close", biz_id="'%s\\N$1 ä🚲", body=["'", "\\", "$1", "ä🚲", "\x7f"], max_attempts=None)

    stored = Job.objects.get(id=made.job_id)
    for field in Job._meta.concrete_fields:
        assert getattr(made.job, field.attname) == getattr(stored, field.attname), field.attname


def test_a_column_that_one_job_of_many_has_is_stored_for_that_one(biz_type: BizType) -> None:
    """Columns that all jobs of a bulk lack are not sent."""
    seldom: dict[str, Any] = {
        "flow_key": "customer-7",
        "max_attempts": 3,
        "raw": b"\x00\xff",
        "content_type": "image/png",
    }
    requests = [JobRequest("order.close", biz_id=f"order-{number}") for number in range(50)]
    requests[7] = JobRequest("order.close", biz_id="order-7", expires_at=timezone.now() + timedelta(days=1), **seldom)

    made = create_many(requests)

    for outcome in made:
        assert isinstance(outcome, Created)
        stored = Job.objects.get(id=outcome.job_id)
        for field in Job._meta.concrete_fields:
            assert getattr(outcome.job, field.attname) == getattr(stored, field.attname), field.attname


def test_a_row_without_a_biz_type_is_refused_with_djangos_error(biz_type: BizType) -> None:
    now = timezone.now()
    orphan = NewJob(new_job_id(), biz_type.id + 1, now, priority=5)

    with pytest.raises(IntegrityError, match="biz_type"):
        insert_jobs([orphan], now=now, using="default")

    assert not Job.objects.exists()
    assert create("order.close").created


def test_a_create_on_a_broken_connection_fails_as_all_of_djangos_statements_do(biz_type: BizType) -> None:
    import psycopg

    create("order.close")
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])

    with pytest.raises(OperationalError):
        create("order.close")

    assert connection.connection is None
    assert create("order.close").created
