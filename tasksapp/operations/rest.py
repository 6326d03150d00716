"""The rest: the jobs that an operation which has stopped or failed did not come to."""

from __future__ import annotations

from dataclasses import replace

from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation

_ENDED_EARLY = (Operation.State.STOPPED, Operation.State.FAILED)
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
