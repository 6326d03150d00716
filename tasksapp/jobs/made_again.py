"""Making a follow-up again that could not be made when its job ended: once what was in its way is gone."""

from __future__ import annotations

import re
from uuid import UUID

from django.db import router, transaction
from django.db.models import F
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
        ended = EndedJob.of(job)._replace(answer=_answer(job, using=using))
        missing = MissingFollowUp.objects.using(using).filter(job_id=job_id, attempts=job.attempts)
        if not ended.follow_up or not missing.delete()[0]:
            raise InvalidJob(None, "nothing_missing", f"nothing is missing that was to follow job {job_id}")
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
    """Whether what was to follow from the ended job is missing. Of a job that does not say so nothing is asked."""
    missing = MissingFollowUp.objects.filter(job_id=job.id, attempts=job.attempts)
    return _SAID.search(job.last_error) is not None and missing.exists()


def _answer(job: Job, *, using: str) -> Answer | None:
    row = Tombstone.objects.using(using).filter(biz_type=job.biz_type, answered_job=job.id).first()
    return None if row is None else Answer.of(row)
