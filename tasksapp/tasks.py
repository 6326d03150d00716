"""The Celery tasks that due timers become."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from celery import Celery, Task, shared_task
from django.db import DatabaseError, InterfaceError

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER, DelayedTask, run_job
from delayhub.clock import moment
from delayhub.engine import Place
from delayhub.errors import UnknownTask
from delayhub.transport.channel import Channel
from delayhub.transport.timer_queue import gate_writers
from tasksapp.biz_types.allowed_tasks import is_declared
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.gates import gate_queues
from tasksapp.jobs import job_log
from tasksapp.models import BizType
from tasksapp.models.database_faults import is_away
from tasksapp.models.error_class import NOT_TAKEN
from tasksapp.sql.claim_answer import ClaimedJob
from tasksapp.timers.fitness import TIMER_TASK
from tasksapp.timers.lanes import patient_lane
from tasksapp.workers import (  # noqa: F401  connect what a worker does beside its tasks
    heartbeat_thread,
    signals,
    unknown_task,
)
from tasksapp.workers.biz_type_report import is_biz_type_of, task_refusal
from tasksapp.workers.delivery_runtime import delivery_runtime
from tasksapp.workers.task_runner import task_runner

logger = logging.getLogger(__name__)

gate_writers.add(TIMER_TASK)


@shared_task(
    name=TIMER_TASK,
    bind=True,
    acks_late=True,
    acks_on_failure_or_timeout=False,
    reject_on_worker_lost=True,
    ignore_result=True,
    max_retries=None,
)
def deliver(
    self: Task[..., Any],
    ids: Sequence[str],
    *,
    lane: str,
    now_ms: int,
    struck: bool = False,
    ungated: Sequence[str] = (),
) -> None:
    """Claims the due jobs in one statement and hands them to the dispatcher, which goes on when this has returned.

    Args:
        ids: the jobs whose timers were due.
        lane: the timer lane that they came from.
        now_ms: Redis' time when they were due, Unix ms.
        struck: whether a worker was lost with these ids before; such ids come one at a time.
        ungated: queues of the lane that are shut until their gates are written from their rows.
    """
    runtime = delivery_runtime()
    claimed_at = runtime.clock.monotonic()
    try:
        if ungated:
            gate_queues(patient_lane(lane), ungated, now=moment(now_ms), using=runtime.using)
            return
        answer = runtime.claimer.claim_due([UUID(job_id) for job_id in ids], now_ms=now_ms)
    except (DatabaseError, InterfaceError) as error:
        if not is_away(error):
            raise
        # The loader makes the timers again; by then the database may be back.
        logger.warning("%d due jobs wait for the database: %s", len(ids), error, extra={"action": "claim"})
        return
    runtime.hand_over(answer, claimed_at=claimed_at)
    for job in answer.forwarded:
        _forward(self.app, job, now_ms=now_ms, using=runtime.using, worker=self.request.hostname or "")


@shared_task(
    name="tasksapp.run_task",
    bind=True,
    acks_late=True,
    reject_on_worker_lost=True,
    ignore_result=True,
    max_retries=None,
)
def run_task(self: Task[..., Any], task_name: str) -> Any:
    """Runs the job that the message names with a task that knows nothing of jobs; gives back what that task does."""
    known = self.app.tasks.get(task_name)
    if isinstance(known, DelayedTask):
        # The worker that sent this did not know the task. It runs as if the message named it.
        known.push_request(**vars(self.request))
        try:
            return known()
        finally:
            known.pop_request()

    def call(*args: Any, **kwargs: Any) -> Any:
        if known is None:
            raise UnknownTask(
                f"no task is registered as {task_name!r} in this worker: import the module that defines it"
            )
        return known(*args, **kwargs)

    return run_job(self.request, call, task_name=task_name)


def task_of(app: Celery, biz_type: BizType) -> Any:
    """The task of a biz type's jobs, as far as this process knows it; None where it does not."""
    return app.tasks.get(biz_type.task_name) or _renamed(app, biz_type)


def _forward(app: Celery, job: ClaimedJob, *, now_ms: int, using: str, worker: str) -> None:
    """Sends the message of a job whose target is a Celery task; its own worker claims the row.

    One that leads to a task or a queue that the project does not allow fails instead, here.
    """
    biz_type = biz_type_cache.as_of(job.biz_type_id, revision=job.biz_type_revision, using=using)
    task = task_of(app, biz_type)
    name = biz_type.task_name if task is None else task.name
    queue = _queue(biz_type, task)
    if refused := task_refusal(app, biz_type, name, queue=queue):
        extra = {"action": "refuse", "job_id": str(job.id), "biz_type": biz_type.code}
        logger.error("job %s of %s is not sent: %s", job.id, biz_type.label, refused, extra=extra)
        task_runner(worker=worker, using=using).refuse(job.id, refused, now_ms=now_ms)
        return
    # A delayed task is sent by its name; any other is run by ``run_task``, also where only other workers know it.
    plain = not (is_declared(biz_type) if task is None else isinstance(task, DelayedTask))
    # A plain task would run within the limits of ``run_task`` instead of its own.
    limits = {each: getattr(task, each) for each in ("time_limit", "soft_time_limit")} if plain and task else {}
    sent_name, task_id = run_task.name if plain else name, f"{job.id}:{job.attempts + 1}"
    if job.error_class == NOT_TAKEN and _still_waits(app, sent_name, task_id, queue=queue):
        return
    app.send_task(
        sent_name,
        args=[name] if plain else (),
        task_id=task_id,
        queue=queue,
        headers={JOB_HEADER: str(job.id), NOW_HEADER: now_ms},
        # Workers take JSON, since timers are messages in JSON too; the project's task_serializer may be another.
        serializer="json",
        **limits,
    )
    if job_log.debugs():
        job_log.note(job_log.Event.SENT, job, biz_type, f"is sent to the task {biz_type.task_name}")


def _still_waits(app: Celery, name: str, task_id: str, *, queue: str | None) -> bool:
    """Whether a message that would be sent again is in its queue: behind others, or held back by a limit of its task.

    One more for each five minutes would fill the queue, and use up what the limit lets start.
    """
    with app.producer_or_acquire() as producer:
        channel: Any = producer.channel
        to = cast("Any", app).amqp.router.route({"queue": queue} if queue else {}, name).get("queue")
        if to is None or not isinstance(channel, Channel):
            return False
        found = channel.queue(to.name).look(task_id)
    return not found.keys().isdisjoint({Place.WAITING, Place.READY, Place.PARKED})


def _queue(biz_type: BizType, task: Task[..., Any] | None) -> str | None:
    """The queue for the job's message; None for Celery's own choice.

    A delayed task's own comes first, so that a release that moves the task to another queue moves its jobs too. The biz
    type's is for tasks that name none, for plain tasks, and for workers that do not know the task.
    """
    own: str | None = getattr(task, "queue", None)
    if isinstance(task, DelayedTask):
        return own or biz_type.task_queue or None
    return biz_type.task_queue or own


def _renamed(app: Celery, biz_type: BizType) -> DelayedTask[..., Any] | None:
    """The delayed task that has this biz type now, where the one that the biz type names is not known here."""
    tasks = [task for task in app.tasks.values() if isinstance(task, DelayedTask)]
    found = [task for task in tasks if is_biz_type_of(task, biz_type) and not task.is_alias]
    return found[0] if len(found) == 1 else None
