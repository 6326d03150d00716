"""Jobs whose task or queue the project does not allow: refused where they are sent, and where they run."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery, shared_task

from delayhub import delayed_task
from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.errors import TaskRefused
from tasksapp.models import BizType, Job, Status, Tenant
from tasksapp.tasks import _forward
from tasksapp.workers.biz_type_report import task_refusal
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.task_messages import call_run_task, work

pytestmark = pytest.mark.django_db(transaction=True)

ran: list[object] = []


@shared_task(name="tests.refusal.plain")
def plain(order: int) -> None:
    ran.append(order)


@delayed_task(biz_type="refusal.refund", name="tests.refusal.refund", bind=True)
def refund(self: Any, order: int) -> None:
    ran.append((order, self.job.id))


@pytest.fixture(autouse=True)
def _nothing_ran(current_celery: Celery) -> None:
    ran.clear()


def forward(app: Celery, job_id: object, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sends the message of a due job as a worker does; the names of the tasks that were sent."""
    sent: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, **_: sent.append(name))
    (job,) = claim(job_id, forward_seconds=300).forwarded
    _forward(app, job, now_ms=SystemClock().now_ms(), using="default", worker="w1")
    return sent


@pytest.mark.parametrize(
    ("tenant", "task", "queue", "reason"),
    [
        (
            "default",
            "tasksapp.deliver",
            "",
            "No job may run a task of Celery's or of DelayHub's own: tasksapp.deliver.",
        ),
        ("acme", "celery.map", "", "No job may run a task of Celery's or of DelayHub's own: celery.map."),
        # this worker has it, and knows that it is no delayed task
        ("default", "tests.refusal.plain", "", "The project does not let jobs run the task tests.refusal.plain"),
        # a delayed task is the default tenant's
        ("acme", "tests.refusal.refund", "", "The tenant acme may not run the task tests.refusal.refund"),
        ("default", "tests.refusal.refund", "other", "The project does not let jobs go to the queue other"),
        ("default", "tests.refusal.refund", "delayhub.timers", "No task may be sent to a queue of Celery's"),
    ],
)
def test_a_row_of_before_is_dead_with_the_reason_and_nothing_is_sent(
    make_biz_type: MakeBizType,
    current_celery: Celery,
    monkeypatch: pytest.MonkeyPatch,
    tenant: str,
    task: str,
    queue: str,
    reason: str,
) -> None:
    owner, _ = Tenant.objects.get_or_create(code=tenant)
    make_biz_type("refusal.old", tenant=owner, target="celery", task_name=task, task_queue=queue)
    job_id = jobs.create("refusal.old", tenant=tenant, body=[1]).job_id

    assert forward(current_celery, job_id, monkeypatch) == []

    job = Job.objects.get()
    assert (job.status, job.attempts) == (Status.DEAD, 1)
    assert job.last_error.startswith(reason)


def test_a_task_that_only_others_know_is_tried_again_since_they_may_be_about_to_declare_it(
    make_biz_type: MakeBizType, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    biz_type = make_biz_type("refusal.elsewhere", target="celery", task_name="elsewhere.close", max_attempts=2)
    job_id = jobs.create("refusal.elsewhere").job_id

    assert forward(current_celery, job_id, monkeypatch) == []
    job = Job.objects.get()
    assert (job.status, job.attempts) == (Status.PENDING, 1)
    assert "The project does not let jobs run the task elsewhere.close" in job.last_error

    biz_type.declared = {"task": "elsewhere.close", "queue": "", "max_attempts": None}
    biz_type.save()
    Job.objects.update(next_run_at=job.due_at)
    assert forward(current_celery, job_id, monkeypatch) == ["elsewhere.close"]


def test_a_task_whose_entry_went_after_its_message_is_not_called(make_biz_type: MakeBizType, settings: Any) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["tests.refusal.*"]}
    make_biz_type("refusal.plain", target="celery", task_name="tests.refusal.plain")
    job_id = jobs.create("refusal.plain", body=[1]).job_id
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_TASKS": []}

    with pytest.raises(TaskRefused):
        call_run_task(job_id, "tests.refusal.plain")

    assert (Job.objects.get().status, ran) == (Status.DEAD, [])


@pytest.mark.parametrize("name", ["tasksapp.deliver", "celery.backend_cleanup"])
def test_a_message_that_names_a_task_of_ours_or_of_celerys_runs_nothing(
    make_biz_type: MakeBizType, settings: Any, name: str
) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["*"]}
    make_biz_type("refusal.plain", target="celery", task_name="tests.refusal.plain")
    job_id = jobs.create("refusal.plain").job_id

    with pytest.raises(TaskRefused, match="No job may run"):
        call_run_task(job_id, name)

    assert Job.objects.get().status == Status.DEAD


def test_a_delayed_task_is_not_called_for_a_job_of_another_tenant(make_biz_type: MakeBizType) -> None:
    make_biz_type(
        "refusal.theirs", tenant=Tenant.objects.create(code="acme"), target="celery", task_name="tests.refusal.refund"
    )
    job_id = jobs.create("refusal.theirs", tenant="acme", body=[7]).job_id

    with pytest.raises(TaskRefused, match="The tenant acme may not run"):
        work(refund, job_id)

    assert (Job.objects.get().status, ran) == (Status.DEAD, [])


def test_a_delayed_task_that_the_sender_did_not_know_runs_as_the_job_all_the_same(make_biz_type: MakeBizType) -> None:
    make_biz_type("refusal.refund", target="celery", task_name="tests.refusal.refund")
    job_id = jobs.create("refusal.refund", body=[7]).job_id

    call_run_task(job_id, "tests.refusal.refund")

    assert (Job.objects.get().status, ran) == (Status.SUCCEEDED, [(7, str(job_id))])


def test_an_entry_gives_a_tenant_a_delayed_task(
    make_biz_type: MakeBizType, current_celery: Celery, settings: Any
) -> None:
    make_biz_type(
        "refusal.theirs", tenant=Tenant.objects.create(code="acme"), target="celery", task_name="tests.refusal.refund"
    )
    biz_type = BizType.objects.select_related("tenant").get()

    assert task_refusal(current_celery, biz_type, "tests.refusal.refund") is not None
    settings.DELAYHUB = {**settings.DELAYHUB, "ALLOWED_TASKS": ["acme/tests.refusal.refund"]}
    assert task_refusal(current_celery, biz_type, "tests.refusal.refund") is None
