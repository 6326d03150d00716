"""The live job of a business key, where there is exactly one."""

from __future__ import annotations

import pytest

from tasksapp import jobs
from tasksapp.errors import JobNotFound, SeveralJobs
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import in_status

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_live_job_of_a_business_key_is_found(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("other")
    create("other", biz_id="order-42")
    in_status(Status.SUCCEEDED, biz_id="order-42")
    live = in_status(biz_id="order-42")

    assert jobs.find_live("order.close", "order-42").id == live


def test_no_live_job_of_a_business_key_is_not_found(biz_type: BizType) -> None:
    in_status(Status.CANCELLED, biz_id="order-42")

    with pytest.raises(JobNotFound, match="order-42"):
        jobs.find_live("order.close", "order-42")


def test_several_live_jobs_of_a_business_key_are_listed_newest_first(biz_type: BizType) -> None:
    ids = [in_status(status, biz_id="order-42") for status in (Status.PENDING, Status.RUNNING)]

    with pytest.raises(SeveralJobs) as refused:
        jobs.find_live("order.close", "order-42")

    assert refused.value.ids == ids[::-1]


@pytest.mark.parametrize(("code", "biz_id"), [("order.close", "a\0b"), ("order\0", "a"), ("order.close", "\ud800")])
def test_a_key_that_no_job_can_have_is_not_found(biz_type: BizType, code: str, biz_id: str) -> None:
    with pytest.raises(JobNotFound):
        jobs.find_live(code, biz_id)
