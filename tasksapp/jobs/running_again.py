"""Running a job again that has succeeded: as a new job, since the first one's receiver has done its work."""

from __future__ import annotations

import json
from uuid import UUID

from django.db import router

from tasksapp.access.actors import Actor
from tasksapp.biz_types.visible import Reach
from tasksapp.errors import JobNotFound, VersionConflict, WrongState
from tasksapp.jobs.creation import Created, create_many
from tasksapp.jobs.exact_bytes import content_type_of
from tasksapp.jobs.own_request_rule import StoredRequest
from tasksapp.jobs.requests import JobRequest, Rejected, SecretRequest
from tasksapp.jobs.validation import VERSION
from tasksapp.jobs.written_json import WrittenJson
from tasksapp.models import Job, Status
from tasksapp.models.new_job import Carried


def run_again(
    job_id: UUID, *, version: int | None = None, by: Actor | None = None, using: str | None = None
) -> Created:
    """A new job, due at once, with what one carries that has succeeded: biz id, flow key, body, priority, …

    It has an id of its own, so that receivers do not take it for a repetition.

    Raises JobNotFound, VersionConflict (it is not the version that the caller saw), WrongState (the job has not
    succeeded), and what :func:`tasksapp.jobs.create` raises.
    """
    using, seen = using or router.db_for_write(Job), VERSION(version)
    job = Job.objects.using(using).select_related("biz_type").filter(id=job_id).first()
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    if seen is not None and job.version != seen:
        raise VersionConflict(job_id, asked=seen, version=job.version, status=job.status)
    if job.status != Status.SUCCEEDED:
        raise WrongState(job_id, verb="run again", status=job.status)
    carried = {column.attname: getattr(job, column.attname) for column in Carried._meta.concrete_fields}
    carried["body"] = WrittenJson(json.loads(job.body), job.body)
    carried["request"] = StoredRequest(job.request) if job.request else None
    kind = SecretRequest if job.is_sealed else JobRequest
    request = kind(job.biz_type.code, **carried, content_type=content_type_of(job.request))
    (outcome,) = create_many([request], seen_by=Reach(job.biz_type.tenant.pk), by=by, using=using)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome
