"""Whether a biz type has jobs, of any status or of one."""

from __future__ import annotations

import pytest

from tasksapp.models import LIVE, BizType, Status
from tasksapp.sql.first_jobs import has_jobs, has_jobs_in
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", list(Status))
def test_a_job_of_any_status_is_one(status: Status, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    store_job(biz_type, status)

    assert has_jobs(biz_type.id, using="default")
    assert not has_jobs(make_biz_type("other").id, using="default")


@pytest.mark.parametrize("status", list(Status))
def test_a_job_is_only_in_its_own_status(status: Status, biz_type: BizType) -> None:
    store_job(biz_type, status)

    found = {one for one in (*LIVE, Status.DEAD) if has_jobs_in(one, biz_type.id, using="default")}

    assert found == {status} & {*LIVE, Status.DEAD}
