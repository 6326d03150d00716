"""The errors that the verbs of jobs raise, one branch of DelayHub's tree.

::

    DelayHubError
    └── JobError
        ├── InvalidJob        a field has a value that a job cannot have
        │   ├── UnknownBizType   there is no such biz type
        │   ├── UnknownTenant    there is no such tenant
        │   ├── TenantMoving     the biz type is being moved to another site, or was
        │   └── InvalidSeries    a field has a value that a series cannot have
        ├── TooManyInserts    the insert rate of the biz type is used up for now
        ├── QuotaUsedUp       the tenant has as much of something as it may
        ├── KeyTaken          the idempotency key belongs to another request
        ├── KeyInUse          the first request with the idempotency key has not finished yet
        ├── JobDeleted        the job that an earlier request made has been deleted since
        ├── KeyResolved       the business key is resolved: none of its jobs fires any more
        ├── AlreadyAnswered   the business key has another answer, or what follows from its answer was made
        ├── LinkNotFound      there is no such answer link
        ├── LinkOver          an answer link was used, or nobody waits for its answer any more
        ├── OneIsLive         the biz type keeps one live job of a biz id, and there is one
        ├── JobNotFound       there is no such job
        ├── SeveralJobs       several live jobs have the business key
        ├── NotFirst          another job of its ordered flow key comes first
        ├── WrongState        the job's status does not allow the verb
        ├── ClaimLost         the claim of a pulled job does not hold any more
        ├── TimersAway        Redis does not answer, so no job can be claimed
        ├── VersionConflict   the job has changed since the caller read it
        ├── OperationNotFound    there is no such operation
        ├── WrongOperationState  the operation's state does not allow what was asked
        ├── SeriesNotFound    there is no such series
        ├── StaleSeries       the series has changed since the caller read it
        ├── NameTaken         the biz type has a series of that name
        ├── StaleKey          the API key has changed since the caller read it
        ├── TaskRefused       the project does not let jobs of the biz type lead to that task, or to that queue
        ├── InvalidBizType    a biz type has values that none can have
        ├── CodeTaken         there is a biz type of that code
        ├── TooManyExports    as many exports are being sent as may be at once
        ├── InvalidExport     a file cannot be taken in as the export of a tenant
        ├── TenantChanged     something of a tenant changed while it was moved
        └── MoveFailed        a tenant could not be moved to another site
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

import redis

from delayhub.errors import DelayHubError, OptionError

#: What is raised where the timers' Redis cannot be asked: it does not answer, or the settings do not name it.
AWAY = (redis.RedisError, OSError, OptionError)


class JobError(DelayHubError):
    """A verb refused to act; the message says why.

    ``place`` is the place of the rejected request among several that are created together, None elsewhere.
    """

    place: int | None = None


class InvalidJob(JobError, ValueError):
    """A field has a value that a job cannot have.

    Args:
        field: the name by which callers know the field; None where the fault is in several.
        code: the kind of the fault, for machines.
        message: a sentence that names the value.
    """

    def __init__(self, field: str | None, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.message = message


class UnknownBizType(InvalidJob, LookupError):
    """There is no biz type of that code, or the caller does not see it."""

    def __init__(self, biz_type: object, *, field: str = "biz_type") -> None:
        super().__init__(field, "unknown", f"there is no biz type {biz_type!r}")


class UnknownTenant(InvalidJob, LookupError):
    """There is no tenant of that code."""

    def __init__(self, tenant: object) -> None:
        super().__init__("tenant", "unknown", f"there is no tenant {tenant!r}")


class TenantMoving(InvalidJob):
    """The biz type is being moved to another site with its tenant, or was: nothing of it is changed here."""

    def __init__(self, biz_type: str) -> None:
        super().__init__("biz_type", "moving", f"{biz_type} is being moved to another site: try again in a moment")


class InvalidSeries(InvalidJob):
    """A field has a value that a series cannot have."""


class TooManyInserts(JobError):
    """The insert rate of the biz type is used up; try again in ``retry_after_seconds``.

    ``rate_per_second`` and ``burst`` are the limit, where that is known.
    """

    def __init__(
        self, biz_type: str, *, retry_after_seconds: float, rate_per_second: float | None = None, burst: int = 1
    ) -> None:
        super().__init__(f"{biz_type} takes no more jobs for {retry_after_seconds:.3g} s: its insert rate is used up")
        self.biz_type = biz_type
        self.retry_after_seconds = retry_after_seconds
        self.rate_per_second = rate_per_second
        self.burst = burst


class QuotaUsedUp(JobError):
    """The tenant has ``used`` of something, and may have ``limit``; ``quota`` says of what.

    ``retry_after_seconds``: when there may be room without that anybody deletes something; None for what stays so.
    """

    def __init__(self, quota: str, *, limit: int, used: int, retry_after_seconds: float | None = None) -> None:
        words = str(quota).replace("_", " ")
        super().__init__(f"the tenant's quota of {words} is used up: it has {used:,} and may have {limit:,}")
        self.quota = str(quota)
        self.limit = limit
        self.used = used
        self.retry_after_seconds = retry_after_seconds


class KeyTaken(JobError):
    """An earlier request, which asked for something else, had the same idempotency key; it made the job ``job_id``."""

    def __init__(self, key: str, job_id: UUID, *, is_known: bool = True) -> None:
        """``is_known``: whether it is known what the earlier request asked for; else it may have been this one."""
        said = f"the idempotency key {key!r} belongs to another request, which made job {job_id}"
        if not is_known:
            said = (
                f"the idempotency key {key!r} came with an earlier request, which made job {job_id}; whether that was"
                " this one cannot be told, since the key of ENCRYPTION_KEYS that its hash was made with is not here:"
                " look at that job, and if it is not yours, give another idempotency key"
            )
        super().__init__(said)
        self.key = key
        self.job_id = job_id
        self.is_known = is_known


class KeyInUse(JobError):
    """The first request with the idempotency key has not finished yet: send the same request again."""

    def __init__(self) -> None:
        super().__init__("another request with the same idempotency key has not finished yet: send it again")


class JobDeleted(JobError):
    """The request is the same as an earlier one, whose job ``job_id`` has been deleted since: nothing was made."""

    def __init__(self, job_id: UUID) -> None:
        super().__init__(f"the same request made job {job_id} before, which has been deleted since: nothing was made")
        self.job_id = job_id


class KeyResolved(JobError):
    """The business key was resolved: no job of it fires any more, until the resolve is lifted or has expired."""

    def __init__(self, biz_type: str, biz_id: str) -> None:
        super().__init__(f"{biz_type} {biz_id!r} is resolved: none of its jobs fires any more")
        self.biz_type = biz_type
        self.biz_id = biz_id


class AlreadyAnswered(JobError):
    """The business key has an answer already, and keeps it; ``job_id`` is the job that took it, None for none yet."""

    def __init__(self, biz_id: str, outcome: str, *, at: datetime, job_id: UUID | None) -> None:
        super().__init__(f"{biz_id!r} was answered with {outcome!r} already, at {at.isoformat(timespec='seconds')}")
        self.biz_id = biz_id
        self.outcome = outcome
        self.at = at
        self.job_id = job_id


class LinkNotFound(JobError, LookupError):
    """There is no such answer link, or not any more."""


class LinkOver(JobError):
    """Nothing is answered by a link any more; ``why`` is one of these words."""

    WORDS = {
        "used": "the link was used already: it answers once",
        "late": "it is too late: nobody waits for the answer any more",
        "begun": "it is too late: what happens without an answer has begun. If that fails, the answer counts",
    }

    def __init__(self, why: Literal["used", "late", "begun"]) -> None:
        super().__init__(self.WORDS[why])
        self.why = why


class OneIsLive(JobError):
    """The biz type keeps one live job of each biz id, and there is one: ``job_id``, where that is known."""

    def __init__(self, biz_type: str, biz_id: str, job_id: UUID | None) -> None:
        named = "another job" if job_id is None else f"job {job_id}"
        super().__init__(f"{named} of {biz_type} {biz_id!r} is live: the biz type keeps one at a time")
        self.biz_type = biz_type
        self.biz_id = biz_id
        self.job_id = job_id


class NotFirst(JobError):
    """Jobs of its flow key run in their order, and ``first_id`` comes before it."""

    def __init__(self, job_id: UUID, first_id: UUID) -> None:
        super().__init__(f"job {job_id} waits for job {first_id}: the jobs of its flow key run in their order")
        self.job_id = job_id
        self.first_id = first_id


class JobNotFound(JobError, LookupError):
    """There is no such job."""


class SeveralJobs(JobError):
    """Several live jobs have that business key: act on one of ``ids`` by its id."""

    def __init__(self, biz_type: str, biz_id: str, ids: Sequence[UUID]) -> None:
        super().__init__(f"{len(ids)} live jobs of {biz_type} have the biz id {biz_id!r}: act on one by its id")
        self.ids = list(ids)


class WrongState(JobError):
    """The job's ``status`` does not allow the ``verb``."""

    def __init__(self, job_id: UUID, *, verb: str, status: str) -> None:
        super().__init__(f"cannot {verb} job {job_id}: it is {status}")
        self.job_id = job_id
        self.verb = verb
        self.status = status


class ClaimLost(JobError):
    """The claim does not hold any more: its lease ended, or it was ended otherwise. The job is ``status`` now.

    Args:
        job_id: the job.
        status: its status.
        ended: how the same claim was ended before: ``done`` or ``failed``; '' where its lease was lost.
    """

    _BECAME = {
        "pending": "the job is pending again",
        "running": "the job has been claimed again",
    }

    def __init__(self, job_id: UUID, *, status: str, ended: str = "") -> None:
        why = f"was ended before, as {ended}" if ended else "does not hold any more"
        became = self._BECAME.get(status, f"the job is {status}")
        super().__init__(f"this claim of job {job_id} {why}; {became}, and nothing was changed")
        self.job_id = job_id
        self.status = status
        self.ended = ended


class TimersAway(JobError):
    """Redis, which has the timers and the limits, does not answer: ask again."""

    def __init__(self, lacks: str = "nothing can be claimed") -> None:
        super().__init__(f"{lacks} while Redis, which has the timers and the limits, does not answer")


class VersionConflict(JobError):
    """The job has changed since the caller read it; it is ``status`` and has ``version`` now."""

    def __init__(self, job_id: UUID, *, asked: int, version: int, status: str) -> None:
        super().__init__(f"job {job_id} has version {version} and is {status}, not version {asked}: read it again")
        self.job_id = job_id
        self.asked = asked
        self.version = version
        self.status = status


class OperationNotFound(JobError, LookupError):
    """There is no such operation."""


class WrongOperationState(JobError):
    """The operation's ``state`` does not allow the ``verb``; ``why`` is a sentence, where the state alone is none."""

    def __init__(self, operation_id: int, *, verb: str, state: str, why: str = "") -> None:
        super().__init__(f"cannot {verb} operation {operation_id}: {why or f'it is {state}'}")
        self.operation_id = operation_id
        self.verb = verb
        self.state = state


class SeriesNotFound(JobError, LookupError):
    """There is no such series, or the caller does not see it."""


class StaleSeries(JobError):
    """The series has changed since the caller read it; it has ``version`` now."""

    def __init__(self, series_id: int, *, asked: int, version: int) -> None:
        super().__init__(f"series {series_id} has version {version}, not version {asked}: read it again")
        self.asked = asked
        self.version = version


class NameTaken(JobError):
    """The biz type has a series of that name already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the biz type has a series {name!r} already")
        self.name = name


class StaleKey(JobError):
    """The API key has changed since the caller read it; it has ``version`` now, or was deleted (None)."""

    def __init__(self, name: str, *, asked: int, version: int | None) -> None:
        now = "it was deleted" if version is None else f"it has version {version}, not {asked}: read it again"
        super().__init__(f"the API key {name!r} was changed meanwhile: {now}")
        self.asked = asked
        self.version = version


class Fault(NamedTuple):
    """What is wrong with one field: its name, a code for machines, and a sentence for people."""

    field: str
    code: str
    message: str


class TaskRefused(JobError):
    """The project does not let jobs of the biz type lead to that task, or to that queue.

    Args:
        reason: a sentence.
        is_final: whether it stays so until a person changes something; not where another worker may still declare it.
    """

    def __init__(self, reason: str, *, is_final: bool = True) -> None:
        super().__init__(reason)
        self.is_final = is_final


class InvalidBizType(JobError, ValueError):
    """A biz type has values that none can have; ``faults`` has a sentence about each."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = list(faults)


class CodeTaken(JobError):
    """There is a biz type of that code already."""

    def __init__(self, code: str) -> None:
        super().__init__(f"there is a biz type {code!r} already")
        self.code = code


class TooManyExports(JobError):
    """As many exports are being sent as may be at once; try again later."""

    def __init__(self, most: int, *, whose: str) -> None:
        exports = "1 export" if most == 1 else f"{most} exports"
        super().__init__(f"{exports} {whose} at once, no more. Try again when one has ended.")
        self.most = most


class InvalidExport(JobError, ValueError):
    """A file is not the whole export of a tenant, or holds what this site cannot take in; the message says what."""


class TenantChanged(JobError):
    """Something of a tenant was changed while it was moved to another site."""

    def __init__(self, tenant: str) -> None:
        super().__init__(f"something of {tenant} was changed meanwhile")


class MoveFailed(JobError):
    """A tenant could not be moved to another site; the message says why, and what to do."""
