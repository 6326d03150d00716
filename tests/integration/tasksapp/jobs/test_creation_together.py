"""Jobs that are created together are all created, or none is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tasksapp import jobs
from tasksapp.errors import InvalidJob, KeyResolved, UnknownBizType
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

REMIND = jobs.JobRequest("order.remind", biz_id="42", delay=timedelta(minutes=25), body={"order": 42})
CLOSE = jobs.JobRequest("order.close", biz_id="42", delay=1800, body={"order": 42}, priority=1, max_attempts=3)


@pytest.fixture(autouse=True)
def biz_types(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")


def test_all_are_created_and_a_resolve_cancels_them() -> None:
    made = jobs.create_many([REMIND, CLOSE], together=True)

    rows = Job.objects.order_by("due_at").values_list("biz_type__code", "biz_id", "priority", "max_attempts")
    assert list(rows) == [("order.remind", "42", 5, None), ("order.close", "42", 1, 3)]
    assert [one.armed for one in made] == [True, True]

    outcome = jobs.resolve([REMIND, CLOSE], "42")

    assert outcome.cancelled == [one.job_id for one in made]
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}


def test_none_is_created_if_one_is_refused_and_the_error_has_its_place() -> None:
    jobs.resolve("order.close", "43")

    with pytest.raises(UnknownBizType) as unknown:
        jobs.create_many([REMIND, jobs.JobRequest("no.such", delay=5)], together=True)
    with pytest.raises(KeyResolved) as resolved:
        jobs.create_many([replace(REMIND, biz_id="43"), replace(CLOSE, biz_id="43")], together=True)
    with pytest.raises(InvalidJob, match="flow_key") as invalid:
        jobs.create_many([jobs.JobRequest("order.close", flow_key="a:b"), CLOSE], together=True)

    assert [error.value.place for error in (unknown, resolved, invalid)] == [1, 1, 0]
    assert not Job.objects.exists()


def test_a_key_that_is_called_off_is_refused_beside_another_that_was_answered(make_biz_type: MakeBizType) -> None:
    make_biz_type("told")
    make_biz_type("ask", on_resolved="told")
    jobs.resolve("ask", "42", outcome="approved")
    jobs.resolve("order.close", "43")

    with pytest.raises(KeyResolved) as resolved:
        jobs.create_many([jobs.JobRequest("ask", biz_id="42", delay=60), replace(CLOSE, biz_id="43")], together=True)

    assert resolved.value.place == 1
    assert not Job.objects.exists()


def test_the_others_are_created_if_they_are_not_created_together() -> None:
    refused, made = jobs.create_many([jobs.JobRequest("no.such"), CLOSE])

    assert isinstance(refused, jobs.Rejected)
    assert refused.error.place is None
    assert isinstance(made, jobs.Created)
    assert Job.objects.get().id == made.job_id


def test_the_same_requests_with_the_same_keys_create_their_jobs_once() -> None:
    wanted = [replace(one, idempotency_key=f"pay-42:{place}") for place, one in enumerate((REMIND, CLOSE))]

    first, second = (jobs.create_many(wanted, together=True) for _ in range(2))

    assert [one.job_id for one in first] == [one.job_id for one in second]
    assert [one.created for one in second] == [False, False]
