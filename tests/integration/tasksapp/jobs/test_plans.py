"""A plan makes its jobs together, or none of them, and is resolved as a whole."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasksapp import jobs
from tasksapp.errors import InvalidJob, KeyResolved, UnknownBizType
from tasksapp.jobs.plans import MOST_STEPS
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

REMIND = jobs.JobRequest("order.remind", delay=timedelta(minutes=25), body={"order": 42})
CLOSE = jobs.JobRequest("order.close", delay=1800, body={"order": 42}, priority=1, max_attempts=3)


@pytest.fixture(autouse=True)
def biz_types(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")


def test_its_jobs_share_the_biz_id_and_are_resolved_together() -> None:
    plan = jobs.plan("42", [REMIND, CLOSE])

    rows = Job.objects.order_by("due_at").values_list("biz_type__code", "biz_id", "priority", "max_attempts")
    assert list(rows) == [("order.remind", "42", 5, None), ("order.close", "42", 1, 3)]
    assert plan.biz_types == ["order.remind", "order.close"]
    assert [one.armed for one in plan.jobs] == [True, True]

    outcome = jobs.resolve(plan, "42")

    assert outcome.cancelled == [one.job_id for one in plan.jobs]
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}
    assert jobs.resolve([REMIND, CLOSE], "42").accepted  # by its steps, where the plan is not at hand


def test_a_step_gives_its_job_the_flow_key_that_it_names() -> None:
    jobs.plan("42", [REMIND, jobs.JobRequest("order.close", delay=1800, flow_key="customer-7")])

    rows = Job.objects.order_by("due_at").values_list("biz_type__code", "flow_key")
    assert list(rows) == [("order.remind", ""), ("order.close", "customer-7")]
    with pytest.raises(InvalidJob, match="flow_key"):
        jobs.plan("43", [jobs.JobRequest("order.close", delay=1800, flow_key="a:b")])


def test_where_a_step_is_refused_there_is_no_job_at_all() -> None:
    jobs.resolve("order.close", "43")

    with pytest.raises(UnknownBizType):
        jobs.plan("42", [REMIND, jobs.JobRequest("no.such", delay=5)])
    with pytest.raises(KeyResolved):
        jobs.plan("43", [REMIND, CLOSE])

    assert not Job.objects.exists()


def test_the_same_plan_with_the_same_key_makes_its_jobs_once() -> None:
    first, second = (jobs.plan("42", [REMIND, CLOSE], idempotency_key="pay-42") for _ in range(2))

    assert [one.job_id for one in first.jobs] == [one.job_id for one in second.jobs]
    assert [one.created for one in second.jobs] == [False, False]


@pytest.mark.parametrize(("biz_id", "steps"), [("", [CLOSE]), ("42", []), ("42", [CLOSE] * (MOST_STEPS + 1))])
def test_a_plan_has_a_biz_id_and_1_to_100_steps(biz_id: str, steps: list[jobs.JobRequest]) -> None:
    with pytest.raises(InvalidJob):
        jobs.plan(biz_id, steps)


@pytest.mark.parametrize("name", ["biz_id", "idempotency_key", "debounce_key"])
def test_a_job_of_a_plan_has_no_key_of_its_own(name: str) -> None:
    own = jobs.JobRequest("order.close", **{name: "own"})

    with pytest.raises(InvalidJob, match=f"a job of a plan has no {name} of its own"):
        jobs.plan("42", [REMIND, own])

    assert not Job.objects.exists()
