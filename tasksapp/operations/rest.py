"""The rest: the jobs that an operation which has stopped or failed did not come to."""

from __future__ import annotations

from dataclasses import replace

from django.db import router, transaction

from tasksapp.errors import WrongOperationState
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Job, Operation
from tasksapp.models.conflicts import repeated
from tasksapp.operations.starter import Starter
from tasksapp.operations.verbs import find, plan

State = Operation.State
_ENDED_EARLY = (State.STOPPED, State.FAILED)
_NOT_STARTED = (State.PLANNING, State.PLANNED)
#: Verbs after which a job matches no more, or is given the same time again. A job that was run and waits again would
#: be taken for one of the rest.
_VERBS = (
    Operation.VerbName.REDRIVE,
    Operation.VerbName.CANCEL,
    Operation.VerbName.DROP,
    Operation.VerbName.RESCHEDULE,
)


def rest_of(operation: Operation) -> JobFilter | None:
    """The filter with which the verb is planned once more to go on; None where there is no rest, or it is not known.

    Those that were redriven and have died again are not part of it.
    """
    planned_at = operation.planned_at
    if operation.state not in _ENDED_EARLY or operation.verb not in _VERBS or planned_at is None:
        return None
    if operation.left == 0:
        return None
    job_filter = JobFilter.parse(operation.job_filter)
    if operation.verb == Operation.VerbName.REDRIVE:
        return replace(job_filter, ended_until=min(job_filter.ended_until or planned_at, planned_at))
    return job_filter


@repeated
def plan_rest(
    operation_id: int, *, by: Starter, seen_by: object = None, reason: str = "", using: str | None = None
) -> tuple[Operation, bool]:
    """A plan of the same verb for the jobs that the operation left, and whether it is new.

    It is for jobs of the same tenant and biz types as the operation. While there is one that has not been started, it
    is that one, whoever planned it: to ask twice plans nothing twice.

    Args:
        operation_id: the operation that stopped or failed.
        by: who plans it.
        seen_by: the caller of the API, who must see the operation; None for people, who see all.
        reason: why, for the record; '' takes that of the operation.
        using: the database.

    Raises OperationNotFound, WrongOperationState (it left nothing, or what it left is not known) or InvalidJob (its biz
    type is gone, or the reason is too long).
    """
    using = using or router.db_for_write(Job)
    with transaction.atomic(using=using):
        # Of two that ask at the same time the second waits here, and finds what the first has planned.
        Operation.objects.using(using).select_for_update(no_key=True).filter(pk=operation_id).first()
        operation = find(operation_id, seen_by=seen_by, using=using)
        rest = rest_of(operation)
        if rest is None:
            verb = "plan the rest of"
            raise WrongOperationState(operation_id, verb=verb, state=operation.state, why=_why_not(operation))
        if operation.biz_type is not None:  # it may have another code since
            code = operation.biz_type.label if seen_by is None else operation.biz_type.code
            rest = replace(rest, biz_type=code)
        if (there := _planned_before(operation, rest, using=using)) is not None:
            return there, False
        made = plan(
            operation.verb,
            rest,
            by=by,
            seen_by=seen_by,
            due_at=operation.due_at,
            reason=reason or operation.reason,
            reach_of=operation,
            using=using,
        )
        return made, True


def _planned_before(operation: Operation, rest: JobFilter, *, using: str) -> Operation | None:
    """The plan of that rest which is there already and has not been started."""
    later = Operation.objects.using(using).select_related("biz_type").filter(pk__gt=operation.pk, verb=operation.verb)
    same = later.filter(due_at=operation.due_at, state__in=_NOT_STARTED)
    wanted = (operation.tenant_id, operation.biz_type_ids, rest.as_dict())
    # Databases do not agree on when two JSON values are equal; plans that wait for their start are few.
    for plan_ in same.order_by("id"):
        if (plan_.tenant_id, plan_.biz_type_ids, plan_.job_filter) == wanted:
            return plan_
    return None


def _why_not(operation: Operation) -> str:
    """Why there is no rest that could be planned."""
    if operation.state not in _ENDED_EARLY:
        return f"it is {operation.state}, and only one that stopped or failed leaves a rest"
    if operation.verb not in _VERBS:
        return f"its jobs cannot be told from those that were left once {operation.verb} was done to them"
    if operation.planned_at is None:
        return "it ended before its jobs were counted; plan it once more"
    return "it left no job"
