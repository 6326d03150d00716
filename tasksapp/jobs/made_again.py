"""Jobs made again: a copy of one that succeeded, and a follow-up that could not be made when its job ended.

The copy is a new job, since the first one's receiver has done its work; a follow-up is made once what was in its way is
gone.
"""

from __future__ import annotations

import json
import re
from uuid import UUID

from django.db import router, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.visible import Reach, refuse_moving
from tasksapp.errors import InvalidJob, JobNotFound, VersionConflict, WrongState
from tasksapp.jobs.creation import Created, create_many
from tasksapp.jobs.exact_bytes import content_type_of
from tasksapp.jobs.follow_ups import EndedJob, make_follow_up
from tasksapp.jobs.own_request_rule import StoredRequest
from tasksapp.jobs.requests import JobRequest, Rejected, SecretRequest
from tasksapp.jobs.validation import VERSION
from tasksapp.jobs.verbs import named
from tasksapp.jobs.written_json import WrittenJson
from tasksapp.models import Job, MissingFollowUp, Status, Tombstone
from tasksapp.models.conflicts import repeated
from tasksapp.models.new_job import Carried
from tasksapp.models.sealed_value import seal_short
from tasksapp.sql.answers import Answer

#: What the job said of it, behind its own last error.
_SAID = re.compile(r"(?:; )?no job of \S+ follows: .*\Z", re.DOTALL)


@repeated
def follow_up_again(
    job_id: UUID,
    *,
    version: int | None = None,
    seen_by: object = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> UUID:
    """Makes what was to follow from an ended job and could not be made; gives the new job's id.

    What it says, to whom it goes and whether it is made follow from the job and its biz type as they are now.

    Args:
        job_id: the ended job.
        version: the version of it that the caller saw; None for any.
        seen_by: the caller of the API, who has to see the biz type of what follows; None for the project's own code.
        by: who does it, for the audit; None for the project's own code, which leaves no entry there.
        reason: why, for the audit.
        using: the database.

    Raises JobNotFound, VersionConflict, InvalidJob where nothing is missing or it cannot be made either, and what
    :func:`tasksapp.jobs.create` raises.
    """
    using, now, asked = using or router.db_for_write(Job), timezone.now(), VERSION(version)
    with transaction.atomic(using=using):
        rows = Job.objects.using(using).filter(id=job_id)
        # Of two at once the second waits here for the first, also on SQLite, and finds nothing missing.
        rows.update(version=F("version"))
        job = rows.select_related("biz_type__tenant").first()
        if job is None:
            raise JobNotFound(f"there is no job {job_id}")
        refuse_moving(job.biz_type)
        if asked is not None and job.version != asked:
            raise VersionConflict(job_id, asked=asked, version=job.version, status=job.status)
        ended = _ended(job)
        if not _missing(job).delete()[0] or not (ended.follow_up or ended.is_resolved):
            raise InvalidJob(None, "nothing_missing", f"nothing is missing that was to follow job {job_id}")
        if not ended.follow_up:
            raise InvalidJob(None, "nothing_missing", f"nothing can follow job {job_id}: its answer is kept no more")
        said = _SAID.sub("", job.last_error)
        made = make_follow_up(ended._replace(last_error=said), seen_by=seen_by, now=now, using=using)
        if said != job.last_error:
            sealed = seal_short(said, place=f"{job.seal_place}/last_error") if job.is_sealed and said else said
            rows.update(last_error=sealed, version=F("version") + 1, updated_at=now)
        audit.record_deed(
            Deed.FOLLOW_UP, by=by, using=using, job_id=job.id, biz_type_id=job.biz_type_id, what=named(job),
            after={"job": str(made)}, reason=reason,
        )  # fmt: skip
    return made


def lacks_follow_up(job: Job) -> bool:
    """Whether what was to follow from the ended job is missing, and may be made. Of most jobs nothing is asked."""
    return bool(_ended(job).follow_up) and _missing(job).exists()


def _missing(job: Job) -> QuerySet[MissingFollowUp]:
    return MissingFollowUp.of_now(using=job._state.db).filter(job_id=job.id)


def _ended(job: Job) -> EndedJob:
    """The job with the answer that it took."""
    ended = EndedJob.of(job)
    if not job.biz_type.on_resolved:
        return ended
    row = Tombstone.objects.using(job._state.db).filter(biz_type=job.biz_type, answered_job=job.id).first()
    return ended if row is None else ended._replace(answer=Answer.of(row))


@repeated
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
    if job.flow_key and job.biz_type.is_ordered:
        del carried["priority"]  # its place says when it runs
    kind = SecretRequest if job.is_sealed else JobRequest
    request = kind(job.biz_type.code, **carried, content_type=content_type_of(job.request))
    (outcome,) = create_many([request], seen_by=Reach(job.biz_type.tenant.pk), by=by, using=using)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome
