"""Tasks of Django's tasks framework as jobs: what its documentation says of a backend, on this environment's framework.

The frameworks' own tests name their Immediate and Dummy backends. docs/jobs/django_tasks.md says which of them pass
with ours in their places.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from celery import Celery
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone

from delayhub.testing import advance_jobs, run_due_jobs
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.models import Attempt, BizType, Job
from tasksapp.task_backends.job_backend import job_priority, normalized
from tasksapp.testing import WithoutTimers
from tests.integration.tasksapp.task_backends.framework import INVALID_TASK, TASKS, of_framework
from tests.integration.tasksapp.task_backends.shop_tasks import fails, gives_no_json, later, leaves, told, total

pytestmark = pytest.mark.django_db(transaction=True)

InvalidTask = of_framework("exceptions", INVALID_TASK)
NoResult, Mismatch = (of_framework("exceptions", name) for name in ("TaskResultDoesNotExist", "TaskResultMismatch"))
Status = of_framework("base", "TaskResultStatus")


@pytest.fixture(autouse=True)
def _backend(settings: Any, current_celery: Celery) -> Iterator[None]:
    settings.TASKS = TASKS
    with WithoutTimers():
        yield


def test_a_task_is_a_job_and_its_result_can_be_read_by_its_id() -> None:
    result = total.enqueue(1, more=2)
    assert (result.status, result.enqueued_at, result.started_at) == (Status.READY, Job.objects.get().created_at, None)

    run_due_jobs()

    found = total.get_result(result.id)
    assert (found.status, found.return_value) == (Status.SUCCESSFUL, {"total": 3, "parts": [1, 2]})
    assert (found.args, found.kwargs, found.errors, found.attempts) == ([1], {"more": 2}, [], 1)
    assert found.is_finished
    assert found.started_at == found.last_attempted_at <= found.finished_at
    (attempt,) = Attempt.objects.all()
    assert found.worker_ids == [attempt.worker]
    assert attempt.worker
    result.refresh()
    assert result == found


def test_a_task_that_fails_is_failed_only_when_its_job_is_dead() -> None:
    result = fails.enqueue()

    run_due_jobs()
    result.refresh()
    assert (result.status, len(result.errors)) == (Status.READY, 1)
    advance_jobs(hours=2)
    run_due_jobs()
    result.refresh()

    assert (result.status, result.attempts) == (Status.FAILED, 2)
    error = result.errors[-1]
    assert error.exception_class.__name__ == "OutOfStock"
    assert "in fails" in error.traceback
    assert error.traceback.endswith("OutOfStock: no lamps\n")
    with pytest.raises(ValueError, match="failed"):
        result.return_value  # noqa: B018  it is read
    assert result.started_at < result.last_attempted_at


def test_a_task_is_deferred_and_keeps_its_priority_and_queue() -> None:
    at = timezone.now() + timedelta(hours=1)
    result = total.using(run_after=at, priority=-37, queue_name="mail").enqueue(1)

    job = Job.objects.select_related("biz_type").get()
    assert (job.due_at, job.biz_type.code, job.priority) == (at, "django-tasks.mail", 6)
    assert run_due_jobs() == []
    found = total.get_result(result.id).task
    assert (found.run_after, found.priority, found.queue_name) == (at, -37, "mail")


def unsigned(body: dict[str, Any]) -> dict[str, Any]:
    """The body without its signature."""
    return {"args": [], "kwargs": {name: value for name, value in body["kwargs"].items() if name != "signature"}}


@pytest.mark.parametrize(
    ("change", "by"),
    [
        # another task, with the signature of this one; with none; and of nothing
        (lambda body: {**body, "kwargs": {**body["kwargs"], "task": "antigravity.fly"}}, None),
        (lambda body: {**body, "kwargs": {**body["kwargs"], "args": [5]}}, None),
        (unsigned, Actor("api:checkout")),
        (unsigned, None),
        (lambda body: {"follows": {}, "body": body}, None),
        (lambda body: {}, None),
    ],
)
def test_a_job_that_the_projects_code_did_not_enqueue_imports_and_runs_nothing(change: Any, by: Actor | None) -> None:
    total.enqueue(1)
    made = Job.objects.get()
    body = json.loads(made.body)
    Job.objects.all().delete()
    forged = jobs.create("django-tasks.default", body=change(body), by=by)

    (ran,) = run_due_jobs()

    assert (ran.job.status, ran.job.attempts) == ("dead", 1)
    assert ran.result is None
    assert "antigravity" not in sys.modules
    assert ran.job.last_error.startswith("The project's code has not enqueued this")
    with pytest.raises(NoResult):
        total.get_result(str(forged.job_id))


def test_a_job_that_a_person_redrove_runs() -> None:
    total.enqueue(1)
    Job.objects.update(changed_by="ada")

    assert [ran.job.status for ran in run_due_jobs()] == ["succeeded"]


@pytest.mark.parametrize(("given", "step"), [(100, 0), (81, 0), (80, 1), (0, 5), (-100, 9), (-80, 9)])
def test_priorities_have_ten_steps(given: int, step: int) -> None:
    assert job_priority(given) == step


def test_it_is_enqueued_in_the_callers_transaction() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        total.enqueue(1)
        raise ZeroDivisionError

    assert not Job.objects.exists()


def test_asynchronous_tasks_and_callers_work() -> None:
    async def live() -> Any:
        return await later.aenqueue(21)

    result = async_to_sync(live)()
    run_due_jobs()

    assert async_to_sync(later.aget_result)(result.id).return_value == 42


def test_a_task_may_take_its_context() -> None:
    result = told.enqueue()

    run_due_jobs()

    assert told.get_result(result.id).return_value == [1, "RUNNING"]


def test_what_is_no_json_is_refused_as_an_argument_and_fails_as_a_result() -> None:
    with pytest.raises(TypeError, match="Unsupported type: <class 'object'>"):
        total.enqueue(object())
    assert not Job.objects.exists()

    result = gives_no_json.enqueue()
    run_due_jobs()
    assert gives_no_json.get_result(result.id).errors[0].exception_class is TypeError
    assert normalized({"a": (1, b"x", None)}) == {"a": [1, "x", None]}


def test_a_task_that_exits_has_failed_and_the_worker_goes_on() -> None:
    result = leaves.enqueue()

    run_due_jobs()

    (error,) = leaves.get_result(result.id).errors
    assert error.exception_class is SystemExit
    assert error.traceback.endswith("SystemExit: 1\n")
    assert Job.objects.get().last_error == "TaskExited: SystemExit: 1"


def test_a_result_that_is_not_there_or_another_tasks_is_refused(biz_type: BizType) -> None:
    other = jobs.create(biz_type.code)

    for id_ in ("none", "0197a5f0-0000-7000-8000-000000000000", str(other.job_id)):
        with pytest.raises(NoResult):
            total.get_result(id_)
    with pytest.raises(Mismatch):
        total.get_result(fails.enqueue().id)


def test_signals_are_sent() -> None:
    seen: list[Any] = []
    signals = {name: of_framework("signals", name) for name in ("task_enqueued", "task_started", "task_finished")}

    def note(sender: Any, task_result: Any, **kwargs: Any) -> None:
        seen.append(task_result.status)
        if task_result.status == "FAILED":
            seen.append(type(sys.exception()).__name__)
            raise RuntimeError("the receiver itself fails")

    for signal in signals.values():
        signal.connect(note)
    try:
        total.enqueue(1)
        run_due_jobs()
        fails.enqueue()
        run_due_jobs()
        advance_jobs(hours=2)
        run_due_jobs()
    finally:
        for signal in signals.values():
            signal.disconnect(note)

    # a failed attempt of a job that is tried again has finished nothing
    failed = ["READY", "RUNNING", "RUNNING", "FAILED", "OutOfStock"]
    assert seen == ["READY", "RUNNING", "SUCCESSFUL", *failed]
    assert set(Job.objects.values_list("status", flat=True)) == {"succeeded", "dead"}


@pytest.mark.parametrize("change", [{"queue_name": "unheard-of"}, {"priority": 101}, {"priority": 1.5}])
def test_a_task_that_the_framework_calls_invalid_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((InvalidTask, ImproperlyConfigured)):
        total.using(**change).enqueue(1)
