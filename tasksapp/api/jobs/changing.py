"""Changing one job: only what the caller sees, and only from the state that the caller saw, where it names one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connections, router, transaction
from django.db.models import F, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.api.http.conditions import check_match, condition_required, has_condition
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problems import refused
from tasksapp.api.jobs.exact_body import with_bytes
from tasksapp.api.jobs.representation import job_etag
from tasksapp.api.jobs.requests import VersionRequestSerializer
from tasksapp.biz_types.visible import visible_jobs
from tasksapp.conf import options
from tasksapp.errors import JobNotFound
from tasksapp.models import Job

#: What describes a change of one job: what it takes beside its address, and what its answer has.
changes = partial(
    endpoint,
    takes=VersionRequestSerializer,
    parameters=[
        OpenApiParameter(
            "If-Match",
            OpenApiTypes.STR,
            OpenApiParameter.HEADER,
            description="The ETag of the state you saw; in another one nothing is done (412).",
        ),
        OpenApiParameter(
            "ETag", OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200], description="Names the job's new state."
        ),
    ],
)


def redrive_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with whether it lifts a resolve. Raises Refused (400)."""
    if fields.get("lift") not in (None, True, False):
        raise refused("lift", "invalid", "lift must be true or false")
    return {**fields, "lift": bool(fields.get("lift"))}


def changeable(request: Request) -> QuerySet[Job]:
    """The jobs that the caller sees, of the database that they are changed in."""
    return visible_jobs(request.user, using=router.db_for_write(Job))


@contextmanager
def changing(request: Request, rows: QuerySet[Job], *, job_id: UUID, version: Any) -> Iterator[None]:
    """Lets the block change the job, if it is one of the rows and in the state that ``If-Match`` names.

    Raises JobNotFound, and Refused where it is in another state (412), or where the site takes only changes that name
    one (428).
    """
    using, found = rows.db, rows.filter(id=job_id).order_by()
    if not has_condition(request):
        if version is None and options().rest_changes == "conditional":
            raise condition_required()
        if not found.exists():
            raise JobNotFound(f"there is no job {job_id}")
        yield
        return
    with transaction.atomic(using=using):
        if not connections[using].features.has_select_for_update:
            # SQLite: a transaction that begins by reading is refused, without waiting, when it comes to write.
            Job.objects.using(using).filter(id=job_id).update(version=F("version"))
        job = found.select_for_update(no_key=True, of=("self",)).first()
        if job is None:
            raise JobNotFound(f"there is no job {job_id}")
        check_match(request, job_etag(job))
        yield


def change(
    job_id: UUID, *, by: Actor, due_at: Any = None, delay: Any = None, version: Any = None, **edited: Any
) -> Job:
    """The pending job with the fields of a request. Raises InvalidJob, WrongState and VersionConflict."""
    edited = with_bytes(edited)
    if not edited:
        return jobs.reschedule(job_id, due_at=due_at, delay=delay, version=version, by=by)
    edited |= {name: when for name, when in (("due_at", due_at), ("delay", delay)) if when is not None}
    return jobs.edit(job_id, **edited, version=version, by=by)
