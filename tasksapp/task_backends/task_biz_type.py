"""The biz type that a task's jobs are of, and what the task declares by ``@delayed_task``, written into its row.

That is written when a worker starts. Processes without the project's tasks read it there: a web server, which takes
jobs and biz types over REST, and a worker that only sends messages. The row says which task its jobs may run, by which
queue, and how often.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import current_app
from celery.signals import worker_ready
from django.db import DatabaseError, InterfaceError, connections, router, transaction

from delayhub.celery_support.delayed_task import DelayedTask
from delayhub.celery_support.job_store import JobTask
from tasksapp.biz_types.allowed_tasks import DJANGO_QUEUES, DJANGO_TASK, is_reserved
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.visible import reach_of
from tasksapp.conf import DEFAULT_LANE, options
from tasksapp.errors import InvalidJob, JobError
from tasksapp.models import BizType
from tasksapp.models.columns import is_code
from tasksapp.models.tenant import DEFAULT_TENANT

logger = logging.getLogger(__name__)
#: How long the making of a biz type waits for a transaction that is making it too.
LOCK_TIMEOUT_MS = 2_000


def biz_type_of_task(task: JobTask, *, using: str) -> BizType:
    """The biz type of the task, made where there is none. Raises InvalidJob where it runs another, or cannot be."""
    tenant_id = reach_of(None, tenant=task.job_tenant, using=using).tenant_id
    biz_type = biz_type_cache.find({task.biz_type}, tenant_id=tenant_id, using=using).get(task.biz_type)
    if biz_type is None:
        if not is_code(task.biz_type):
            message = (
                f"{task.biz_type!r:.120} is no code of a biz type: it has up to 100 of a-z, 0-9, '.', '_' and '-', and"
                " begins with a letter or digit"
            )
            raise InvalidJob("biz_type", "invalid", message)
        declaration = declaration_of(task, task_name=task.name)
        attempts = {"max_attempts": declaration["max_attempts"]} if declaration["max_attempts"] else {}
        defaults = {
            **attempts,
            "declared": declaration,
            "target": BizType.Target.CELERY,
            "task_name": task.name,
            "task_queue": declaration["queue"],
            "lane": DEFAULT_LANE if DEFAULT_LANE in options().lanes else options().lanes[0],
            "description": "Made with the first job of its task.",
        }
        biz_type = make_at_first_use(task.biz_type, tenant_id=tenant_id, defaults=defaults, using=using)
    # One with an old name keeps it: workers of the earlier release know the task by no other.
    if biz_type.target == BizType.Target.CELERY and biz_type.task_name in {task.name, *task.aliases}:
        return biz_type
    if biz_type.target == BizType.Target.CELERY and biz_type.task_name not in current_app.tasks:
        # Renamed: the worker finds the task by its biz type. Another task of that name would be a mistake.
        logger.info(
            "the biz type %s names the task %s, which is %s now",
            biz_type.code,
            biz_type.task_name,
            task.name,
            extra={"action": "schedule", "biz_type": biz_type.code},
        )
        return biz_type
    message = f"the biz type {biz_type.code} does not run the task {task.name}: set its target, or name another"
    raise InvalidJob("biz_type", "other_target", message)


def declaration_of(task: JobTask, *, task_name: str) -> dict[str, Any]:
    """What the task's code says of its jobs, as the row of their biz type keeps it.

    Args:
        task: the task.
        task_name: the name by which the biz type knows it; it may be an alias.
    """
    # Django's tasks bring the number of their backend with each job; several backends may have the same queue.
    attempts = None if task.name == DJANGO_TASK else task.job_max_attempts
    return {"task": task_name, "queue": getattr(task, "queue", None) or "", "max_attempts": attempts}


@worker_ready.connect(dispatch_uid="tasksapp.task_backends.task_biz_type")
def declare_tasks(sender: Any = None, **_: Any) -> None:
    """Writes what the worker's tasks declare, and logs where that cannot be."""
    try:
        declare(sender.app, using=router.db_for_write(BizType))
    except (DatabaseError, InterfaceError) as error:
        logger.warning("what tasks declare could not be written: %s", error, extra={"action": "startup"})


def declare(app: Any, *, using: str) -> None:
    """Makes the biz types of the app's delayed tasks that are missing, and writes into each what its task declares.

    What is written already stays untouched, so that a worker that starts again writes nothing. A biz type whose task is
    no delayed task any more loses its declaration.

    Raises what the database raises.
    """
    tasks = [task for task in app.tasks.values() if isinstance(task, DelayedTask) and not task.is_alias]
    for task in sorted(tasks, key=lambda each: each.name):
        # Those of Django's framework have a biz type for each queue, made with the first job.
        if task.name != DJANGO_TASK:
            _declare(task, using=using)
    for row in _rows(using).filter(code__startswith=DJANGO_QUEUES, task_name=DJANGO_TASK, declared__isnull=True):
        if not is_reserved(DJANGO_TASK, row):
            _write(row, {"task": DJANGO_TASK, "queue": "", "max_attempts": None})
    for row in _rows(using).exclude(declared__isnull=True):
        if row.task_name in app.tasks and not isinstance(app.tasks[row.task_name], DelayedTask):
            _write(row, None)


def _declare(task: JobTask, *, using: str) -> None:
    try:
        found = biz_type_of_task(task, using=using)
    except JobError as error:
        logger.warning("the task %s has no biz type: %s", task.name, error, extra={"action": "startup"})
        return
    row = _rows(using).filter(pk=found.pk).first()
    # One with a name that its task does not have may be another task's: only the name that was declared is allowed.
    if row is not None and row.task_name in {task.name, *task.aliases}:
        _write(row, declaration_of(task, task_name=row.task_name))


def _rows(using: str) -> Any:
    return BizType.objects.using(using).select_related("tenant").filter(target=BizType.Target.CELERY).order_by("pk")


def _write(row: BizType, declaration: dict[str, Any] | None) -> None:
    attempts = (declaration or {}).get("max_attempts") or row.max_attempts
    if (row.declared, row.max_attempts) == (declaration, attempts):
        return
    if attempts != row.max_attempts:
        said = "%s has %s attempts from now on, as its @delayed_task says, in the place of %s"
        extra = {"action": "startup", "biz_type": row.code}
        logger.warning(said, row.label, attempts, row.max_attempts, extra=extra)
    row.declared, row.max_attempts = declaration, attempts
    row.save(update_fields=["declared", "max_attempts", "updated_at"])


def make_at_first_use(code: str, *, tenant_id: int = DEFAULT_TENANT, defaults: dict[str, Any], using: str) -> BizType:
    """The tenant's biz type of that code, made with these values where there is none.

    Within the caller's transaction, a new row would lock its code until that transaction ends, and every other first
    use would wait for it. So a connection of its own commits it at once, and it stays where the caller rolls back.
    """
    if _can_commit_at_once(using):
        try:
            with ThreadPoolExecutor(max_workers=1, thread_name_prefix="delayhub-first-use") as thread:
                return thread.submit(_make, code, tenant_id=tenant_id, defaults=defaults, using=using).result()
        except DatabaseError as error:
            extra = {"action": "first_use", "biz_type": code}
            logger.warning("the biz type %s is made in the caller's transaction: %s", code, error, extra=extra)
    biz_type, _ = BizType.objects.using(using).get_or_create(tenant_id=tenant_id, code=code, defaults=defaults)
    return biz_type


def _can_commit_at_once(using: str) -> bool:
    """Whether a connection of its own can commit the row, and the caller's transaction then sees it."""
    connection: Any = connections[using]
    # SQLite has one writer at a time, and the caller may be it.
    if connection.vendor != "postgresql" or not connection.in_atomic_block:
        return False
    # A TestCase rolls its transaction back; a row that was committed beside it would stay for other tests.
    if any(block._from_testcase for block in connection.atomic_blocks):
        return False
    # A stricter transaction sees only what was committed before it began.
    return bool(connection.isolation_level.name == "READ_COMMITTED")


def _make(code: str, *, tenant_id: int, defaults: dict[str, Any], using: str) -> BizType:
    try:
        with transaction.atomic(using=using):
            with connections[using].cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            biz_type, _ = BizType.objects.using(using).get_or_create(tenant_id=tenant_id, code=code, defaults=defaults)
            return biz_type
    finally:
        connections[using].close()
