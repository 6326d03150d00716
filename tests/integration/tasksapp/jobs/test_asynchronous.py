"""The verbs for asynchronous callers."""

from __future__ import annotations

import inspect
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from celery import Celery

from delayhub import delayed_task
from tasksapp import jobs
from tasksapp.errors import InvalidJob, WrongState
from tasksapp.models import BizType, Job
from tasksapp.testing import WithoutTimers

pytestmark = pytest.mark.django_db(transaction=True)


@delayed_task(biz_type="shop.later", name="tests.shop.later")
def later(number: int) -> None: ...


@pytest.mark.parametrize(
    ("verb", "pattern"),
    [(jobs.acreate, jobs.create), (jobs.areschedule, jobs.reschedule), (jobs.acancel, jobs.cancel)],
)
def test_each_takes_what_its_namesake_takes(verb: object, pattern: object) -> None:
    assert inspect.iscoroutinefunction(verb)
    assert inspect.signature(verb) == inspect.signature(pattern)  # type: ignore[arg-type]  # both are functions


def test_a_job_is_created_moved_and_cancelled(biz_type: BizType) -> None:
    async def live() -> str:
        made = await jobs.acreate(biz_type.code, biz_id="order-42", delay=timedelta(hours=1))
        moved = await jobs.areschedule(made.job_id, delay=timedelta(hours=2))
        cancelled = await jobs.acancel(made.job_id, version=moved.version)
        with pytest.raises(WrongState):
            await jobs.acancel(made.job_id)
        with pytest.raises(InvalidJob):
            await jobs.acreate("no-such-biz-type")
        return cancelled.status

    with WithoutTimers():
        assert async_to_sync(live)() == "cancelled"

    assert Job.objects.get().status == "cancelled"


def test_a_task_is_scheduled_moved_and_cancelled(current_celery: Celery) -> None:
    async def live() -> None:
        scheduled = await later.aschedule(args=[1], delay=timedelta(hours=1), biz_id="order-42")
        await scheduled.areschedule(delay=timedelta(hours=2))
        await scheduled.acancel()
        with pytest.raises(TypeError):
            await later.aschedule(args=[1, 2])

    with WithoutTimers():
        async_to_sync(live)()

    assert Job.objects.values_list("biz_id", "status").get() == ("order-42", "cancelled")
