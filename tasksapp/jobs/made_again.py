"""Making a follow-up again that could not be made when its job ended: once what was in its way is gone."""

from __future__ import annotations

import re
from uuid import UUID

from django.db import router, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.visible import refuse_moving
from tasksapp.errors import InvalidJob, JobNotFound, VersionConflict
from tasksapp.jobs.follow_ups import EndedJob, make_follow_up
from tasksapp.jobs.validation import VERSION
from tasksapp.jobs.verbs import named
from tasksapp.models import Job, MissingFollowUp, Tombstone
from tasksapp.models.sealed_value import seal_short
from tasksapp.sql.answers import Answer

#: What the job said of it, behind its own last error.
_SAID = re.compile(r"(?:; )?no job of \S+ follows: .*\Z", re.DOTALL)


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
