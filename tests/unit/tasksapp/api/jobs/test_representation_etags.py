"""The ETag of a job: another one for each state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasksapp.api.jobs.representation import etag_of, job_etag
from tasksapp.models import BizType, Job

AT = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)


def test_every_part_of_the_state_is_in_it() -> None:
    found = {
        etag_of(1, "pending", AT, biz_type="order.close"),
        etag_of(2, "pending", AT, biz_type="order.close"),
        etag_of(1, "running", AT, biz_type="order.close"),
        etag_of(1, "pending", AT + timedelta(microseconds=1), biz_type="order.close"),
        etag_of(1, "pending", AT, biz_type="order.shut"),
    }

    assert len(found) == 5


def test_it_is_a_strong_tag_in_quotes_and_the_same_for_the_same_state() -> None:
    job = Job(version=3, status="dead", updated_at=AT, biz_type=BizType(code="order.close"))

    assert job_etag(job) == etag_of(3, "dead", AT, biz_type="order.close")
    assert job_etag(job).startswith('"3-dead-')
    assert job_etag(job).endswith('"')
