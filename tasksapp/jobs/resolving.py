"""Resolving: "the order was paid". After an accepted resolve nothing fires for that business key.

Where a biz type has ``on_resolved``, its jobs wait for an answer, and a resolve brings one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from django.db import Error, connections, router, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import OWN_CODE, Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.visible import Reach, reach_of, refuse_moving
from tasksapp.errors import InvalidJob, UnknownBizType
from tasksapp.jobs.called_off import call_off
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.resolved import lift_key
from tasksapp.jobs.retry_policy import LONGEST_RETRY_AFTER
from tasksapp.jobs.validation import Body, Key
from tasksapp.jobs.verbs import follow_on_commit, named
from tasksapp.models import BizType, Job, Status, Tombstone, Transition, error_class
from tasksapp.models.columns import is_code
from tasksapp.models.conflicts import repeated
from tasksapp.models.job import FOLLOW_UP
from tasksapp.sql.answers import Answer, lay_answers
from tasksapp.sql.tombstones import lay_tombstones

logger = logging.getLogger(__name__)

#: Rows that one transaction locks.
BATCH_ROWS = 500
#: Biz types that one resolve may name.
MOST_BIZ_TYPES = 100
#: What jobs hear that wait for an answer, where a resolve says no other word.
RESOLVED = "resolved"
#: The rules of an answer.
OUTCOME = Key(longest=100, none="", field="outcome", help="The answer, for jobs that wait for one: `approved`.")
BODY = Body(field="body", help="What else the answer says: any JSON value.")


class OfBizType(Protocol):
    """What names a biz type, such as a step of a plan."""

    @property
    def biz_type(self) -> str:
        """Its code."""


#: Which jobs a resolve is about: the code of a biz type, several of them, or job requests.
What = str | Iterable[str | OfBizType]


@dataclass(slots=True, kw_only=True)
class Resolution:
    """What became of a resolve.

    Args:
        biz_id: the business key that it is about.
        biz_types: the codes of the biz types that it is about.
        accepted: True once nothing can fire any more but the jobs in ``running``; None while the caller's transaction
            is open; False where the transaction was committed, and the rest of the work then failed, such as by a
            lock that another holds on a job. Also then nothing fires that is not running, but it is not known which
            jobs are: resolve the key once more to know.
        cancelled: the jobs that were pending, as far as they are cancelled; None until the commit.
        running: the jobs whose attempt had begun. None of them is tried again. None unless it is accepted.
        answered: the job that the answer was for: the first that it named, of biz types that wait for one. None where
            there is none yet: the next one that asks is answered at once.
        status: how that job stands; '' where it is kept no more.
        too_late: whether that job runs, or had ended otherwise: its time was over. If an attempt that runs fails, the
            answer counts after all.
    """

    biz_id: str
    biz_types: Sequence[str]
    accepted: bool | None = None
    cancelled: list[UUID] | None = None
    running: list[UUID] | None = None
    answered: UUID | None = None
    status: str = ""
    too_late: bool = False


@repeated
def resolve(
    biz_types: What,
    biz_id: str,
    *,
    outcome: str | None = None,
    body: Any = None,
    tenant: str | None = None,
    seen_by: object = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> Resolution:
    """Calls off all jobs of a business key, those that are created from now on for a week as well.

    It answers those whose biz types have ``on_resolved``: a job of that follows, with outcome and body.

    Within a transaction of the caller it counts from the commit on: ``accepted``, ``cancelled`` and ``running`` are
    None until then. It raises what the database raises only where nothing was committed.

    Args:
        biz_types: the code of a biz type, several codes, or job requests.
        biz_id: the business key.
        outcome: the answer, for jobs that wait for one, such as ``approved``; None: ``resolved``.
        body: what else the answer says, any JSON value.
        tenant: the code of the tenant whose biz types they are; None for the default one.
        seen_by: the caller of the API whose biz types they are, in the place of ``tenant``.
        by: who does it, for the audit; None for the project's own code, which leaves no entries there.
        reason: why, for the audit.
        using: the database.

    Raises InvalidJob, UnknownBizType where there is no such biz type, UnknownTenant, and AlreadyAnswered where another
    answer was there.
    """
    using = using or router.db_for_write(Job)
    biz_id = _key(biz_id)
    found = _biz_types(biz_types, reach=reach_of(seen_by, tenant=tenant, using=using), using=using)
    resolution = Resolution(biz_id=biz_id, biz_types=[biz_type.code for biz_type in found])
    work = _Resolving(found, biz_id, outcome=OUTCOME(outcome) or "", body=body, by=by, reason=reason, using=using)
    inside = connections[using].in_atomic_block
    # The order matters: a claim that begins after this commit sees the tombstone, and what a claim has taken before is
    # found by the two steps after it.
    with transaction.atomic(using=using):
        work.lay()
        if inside:

            def finish_on_commit() -> None:
                work.finish(resolution)

            transaction.on_commit(finish_on_commit, using=using, robust=True)
    if not inside:
        work.finish(resolution)
    return resolution


@repeated
def lift(
    biz_types: What,
    biz_id: str,
    *,
    tenant: str | None = None,
    seen_by: object = None,
    by: Actor | None = None,
    reason: str = "",
    using: str | None = None,
) -> int:
    """Takes a resolve back, so that new jobs of the business key fire; gives back of how many biz types it was.

    Jobs that were cancelled stay so. For the arguments see :func:`resolve`.

    Raises InvalidJob, UnknownBizType where there is no such biz type, UnknownTenant, and AlreadyAnswered where a job
    has taken the answer of the resolve.
    """
    using = using or router.db_for_write(Job)
    biz_id = _key(biz_id)
    found = _biz_types(biz_types, reach=reach_of(seen_by, tenant=tenant, using=using), using=using)
    with transaction.atomic(using=using):
        lifted = lift_key([biz_type.pk for biz_type in found], biz_id=biz_id, using=using)
        if lifted:
            _record(Deed.LIFT, found, biz_id, by=by, reason=reason, using=using)
    return lifted


class _Resolving:
    """One resolve: of which biz types, for which biz id, by whom."""

    def __init__(
        self,
        biz_types: Sequence[BizType],
        biz_id: str,
        *,
        outcome: str,
        body: Any,
        by: Actor | None,
        reason: str,
        using: str,
    ) -> None:
        self._biz_types = biz_types
        self._biz_id = biz_id
        self._by = by
        self._reason = reason
        self._using = using
        #: Biz types whose jobs wait for an answer.
        self._hearing = {biz_type.pk for biz_type in biz_types if biz_type.on_resolved}
        #: Whether the caller gave an answer.
        self._is_said = bool(outcome) or body is not None
        self._outcome, self._body = outcome or RESOLVED, BODY(body)
        #: By biz type: follow-ups that were made since then are not called off. Empty: there are none.
        self._since: dict[int, datetime] = {}
        if self._is_said and not self._hearing:
            text = "outcome and body are for biz types that have on_resolved, and none of these has"
            raise InvalidJob("outcome", "not_heard", text)

    def lay(self) -> None:
        """The first step: the tombstones, in a transaction that holds nothing else of the resolve."""
        now = timezone.now()
        untils = {biz_type.pk: now + life_span(biz_type) for biz_type in self._biz_types}
        name = (self._by or OWN_CODE).name
        if self._hearing:
            answer = Answer(self._outcome, self._body, now, name)
            is_first, self._since = lay_answers(
                untils,
                answer,
                hearing=self._hearing,
                encrypted={biz_type.pk for biz_type in self._biz_types if biz_type.encrypted},
                biz_id=self._biz_id,
                is_said=self._is_said,
                using=self._using,
            )
        else:
            is_first = lay_tombstones(untils, biz_id=self._biz_id, now=now, by=name, using=self._using)
        if is_first:
            # So that creates of this process refuse at once; those of others follow within a second.
            transaction.on_commit(biz_type_cache.clear, using=self._using)
        said = {"outcome": self._outcome} if self._hearing else None
        _record(
            Deed.RESOLVE, self._biz_types, self._biz_id, by=self._by, reason=self._reason, using=self._using, after=said
        )

    def finish(self, outcome: Resolution) -> None:
        """The second step cancels what is pending, the third one names what runs; the outcome tells of a failure.

        Where there is an answer, a fourth one says which job it was for.
        """
        outcome.accepted, outcome.cancelled = False, []
        try:
            while batch := self._cancel_batch():
                outcome.cancelled += batch
            # By a statement of its own, which sees what the claims that the second step waited for have taken.
            running = self._rows().filter(status=Transition.RESOLVE_RETRY.source)
            outcome.running = list(running.order_by("id").values_list("id", flat=True))
            if self._hearing:
                self._tell_who_is_answered(outcome)
        except Error as error:
            logger.warning(
                "%s is resolved, but not all of its jobs are cancelled yet: %s",
                self._biz_id, error, extra={"action": "resolve"},
            )  # fmt: skip
            return
        outcome.accepted = True

    def _rows(self) -> QuerySet[Job]:
        numbers = [biz_type.pk for biz_type in self._biz_types]
        rows = Job.objects.using(self._using).filter(biz_type_id__in=numbers, biz_id=self._biz_id)
        if not self._since:
            return rows
        # What follows from the answer is none of what it calls off.
        since = [Q(biz_type_id=number, created_at__gte=at) for number, at in self._since.items()]
        return rows.exclude(Q(*since, _connector=Q.OR), created_by=FOLLOW_UP)

    @repeated
    def _cancel_batch(self) -> list[UUID]:
        """Cancels pending jobs and gives back their ids; none where none are left.

        It waits for the transactions of others, claims above all: it may pass over no row.
        """
        pending = self._rows().filter(status=Transition.RESOLVE.source)
        with transaction.atomic(using=self._using):
            found = call_off(pending, by=self._by, limit=BATCH_ROWS)
            self._record_cancelled(found)
            follow_on_commit(found, verb=Deed.RESOLVE, by=self._by, using=self._using)
        return [job.id for job in found]

    def _record_cancelled(self, jobs: Sequence[Job]) -> None:
        by = self._by
        if by is None or not jobs or not audit.is_recorded(by):
            return
        before = {"status": Transition.RESOLVE.source, "finished_at": None}
        entries = [
            audit.entry(
                Deed.RESOLVE, by=by, job_id=job.id, biz_type_id=job.biz_type_id, what=named(job), before=before,
                after={"status": job.status, "finished_at": job.finished_at}, reason=self._reason,
            )
            for job in jobs
        ]  # fmt: skip
        audit.record(entries, using=self._using)

    @repeated
    def _tell_who_is_answered(self, outcome: Resolution) -> None:
        """Notes the job that the answer was for. Of one that has ended otherwise no later job may take it."""
        table = Tombstone.objects.using(self._using)
        rows = table.filter(biz_type_id__in=self._hearing, biz_id=self._biz_id).order_by("biz_type_id")
        for row in rows.defer("answer"):
            jobs = self._rows().filter(biz_type_id=row.biz_type_id).defer("body", "raw")
            if row.answered_job is not None:
                job = jobs.filter(id=row.answered_job).first()
            else:
                job = jobs.filter(status=Status.RUNNING).order_by("id").first() or jobs.order_by("-id").first()
            if job is None:
                outcome.answered = row.answered_job  # where it was one that is kept no more
                continue
            was_over = False  # before this answer, such as by one whose tombstone is pruned
            if row.answered_job is None and job.finished_at is not None:
                was_over = table.filter(pk=row.pk, answered_job=None).update(answered_job=job.id) > 0
            outcome.answered, outcome.status = job.id, str(job.status)
            was_resolved = job.status == Transition.RESOLVE.target and job.error_class == error_class.RESOLVED
            outcome.too_late = was_over or (not was_resolved and job.status != Status.PENDING)
            return


def life_span(biz_type: BizType) -> timedelta:
    """How long a tombstone holds: as long as a job that runs now may come back, and a week at least."""
    waits = [biz_type.backoff_max_seconds, *biz_type.backoff_list]
    longest = timedelta(seconds=max(waits) * (1 + biz_type.jitter))
    return (biz_type.max_age or timedelta(0)) + max(longest, LONGEST_RETRY_AFTER)


def _key(biz_id: Any) -> str:
    key: str = RULES["biz_id"](biz_id)
    if not key:
        raise InvalidJob("biz_id", "blank", "biz_id may not be empty")
    return key


def _biz_types(what: Any, *, reach: Reach, using: str) -> list[BizType]:
    """The biz types that are meant, each once. Raises InvalidJob, UnknownBizType and TenantMoving."""
    listed = [what] if isinstance(what, str) else what
    if not isinstance(listed, Iterable):
        raise InvalidJob("biz_types", "invalid", "biz_types must be codes of biz types")
    named = [getattr(one, "biz_type", one) for one in listed]
    for code in named:
        if not isinstance(code, str) or not is_code(code):
            raise InvalidJob("biz_types", "invalid", f"biz_types must be codes of biz types, got {code!r:.80}")
    codes = list(dict.fromkeys(named))
    if not 0 < len(codes) <= MOST_BIZ_TYPES:
        raise InvalidJob("biz_types", "invalid", f"name 1 to {MOST_BIZ_TYPES} biz types, got {len(codes)}")
    known = biz_type_cache.find(set(codes), tenant_id=reach.tenant_id, using=using)
    for code in codes:
        if code not in known or not reach.has(known[code]):
            raise UnknownBizType(code, field="biz_types")
        refuse_moving(known[code])
    return [known[code] for code in codes]


def _record(
    deed: Deed,
    biz_types: Sequence[BizType],
    biz_id: str,
    *,
    by: Actor | None,
    reason: str,
    using: str,
    after: Mapping[str, Any] | None = None,
) -> None:
    if by is None or not audit.is_recorded(by):
        return
    entries = [
        audit.entry(deed, by=by, biz_type_id=biz_type.pk, what=f"{biz_type.label} {biz_id}", after=after, reason=reason)
        for biz_type in biz_types
    ]
    audit.record(entries, using=using)
