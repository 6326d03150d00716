"""What a claim does where the job before of the same series has not finished, and what follows when one ends.

The claim has made the jobs running. Here one of them becomes ``live_job`` of its series, while the row of the series is
locked: that column, and no look at other jobs, says which one is live. Read before the lock, or by EXISTS, two workers
ran two jobs at once in 44 of 1 500 races.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef

from tasksapp.extending.claim_rules import Claim, ClaimHook, WaitRule
from tasksapp.models import BizType, Job, Series, Transition, error_class
from tasksapp.models.conflicts import repeated
from tasksapp.models.series import MISSED
from tasksapp.sql.claim_answer import ClaimAnswer, ClaimedJob
from tasksapp.sql.decision import Decision, among

#: Reasons of jobs that did not run for the sake of another one of their series.
SKIPPED = "overlap: the one before has not finished"
REPLACED = "overlap: a later one took its place"
#: A job that waits for the end of the live one is looked at so often, should the end go unnoticed.
WAIT = timedelta(seconds=5)

_PENDING, _RUNNING = Transition.CLAIM.source, Transition.CLAIM.target
_LIVE = (_PENDING, _RUNNING)


@dataclass(slots=True)
class _Decisions:
    """What becomes of the claimed jobs of some series."""

    skipped: list[UUID] = field(default_factory=list)
    replaced: list[UUID] = field(default_factory=list)
    waiting: list[UUID] = field(default_factory=list)
    cancelled: list[UUID] = field(default_factory=list)
    woken: list[UUID] = field(default_factory=list)


@repeated
def settle_overlaps(answer: ClaimAnswer, *, now: datetime, using: str) -> None:
    """Takes those jobs out of the claim that may not run beside another one of their series.

    Args:
        answer: what the claim did; it says afterwards what became of them.
        now: Redis' time.
        using: the database.
    """
    by_series: dict[int, list[ClaimedJob]] = defaultdict(list)
    for job in answer.claimed:
        if job.series_id is not None:
            by_series[job.series_id].append(job)
    strict = Series.objects.using(using).filter(id__in=list(by_series)).exclude(overlap=Series.Overlap.START)
    # Most start all the same, and take no transaction.
    concerned = list(strict.values_list("id", flat=True))
    if not concerned:
        return
    decisions = _Decisions()
    with transaction.atomic(using=using):
        # In this order for all, so that no two claims wait for each other.
        for series in _locked(concerned, using=using):
            mine = sorted(by_series[series.pk], key=_order)
            live = _live_job(series, using=using)
            _decide(series, mine, live, decisions, now=now, using=using)
        _write(decisions, answer, now=now, using=using)
    taken_back = {*decisions.skipped, *decisions.replaced, *decisions.waiting}
    answer.claimed = [job for job in answer.claimed if job.id not in taken_back]
    answer.ended += [*decisions.skipped, *decisions.replaced]
    answer.not_due += [(job_id, now + WAIT) for job_id in decisions.waiting]
    answer.not_due += [(job_id, now) for job_id in decisions.woken]


def release_series(series_ids: Iterable[int], *, now: datetime, using: str) -> list[Job]:
    """Notes which series have no live job any more. Gives back the jobs that waited for that and are due now."""
    rows = Series.objects.using(using).filter(id__in=list(set(series_ids)), live_job__isnull=False)
    concerned = list(rows.values_list("id", flat=True))
    woken: list[Job] = []
    if not concerned:
        return woken
    with transaction.atomic(using=using):
        for series in _locked(concerned, using=using):
            live = _live_job(series, using=using)
            if live is not None and series.waiting_job and _called_off(live.id, now=now, using=using):
                live = None
            if live is not None:
                continue
            if series.waiting_job:
                waiting = Job.objects.using(using).filter(id=series.waiting_job, status=_PENDING)
                waiting.update(next_run_at=now, updated_at=now)
                woken += waiting.select_related("biz_type").defer("body", "raw")
            _note(series, live=None, waiting=None, using=using)
    return woken


def series_with_ended_jobs(*, limit: int, using: str) -> list[int]:
    """Series whose live job has finished, or is gone, without an outcome that said so."""
    live = Job.objects.using(using).filter(id=OuterRef("live_job"), status__in=_LIVE)
    rows = Series.objects.using(using).filter(live_job__isnull=False).exclude(Exists(live))
    return list(rows.order_by("id").values_list("id", flat=True)[:limit])


def _order(job: ClaimedJob) -> tuple[datetime, UUID]:
    return job.occurrence_at or job.due_at, job.id


def _locked(ids: Sequence[int], *, using: str) -> list[Series]:
    rows = Series.objects.using(using).filter(id__in=ids).order_by("id")
    return list(rows.only("id", "overlap", "live_job", "waiting_job").select_for_update(no_key=True))


def _live_job(series: Series, *, using: str) -> Job | None:
    """The live job of a locked series, unless it has finished without a word."""
    if series.live_job is None:
        return None
    rows = Job.objects.using(using).filter(id=series.live_job, status__in=_LIVE)
    return rows.only("id", "status", "occurrence_at", "due_at").first()


def _decide(
    series: Series, mine: list[ClaimedJob], live: Job | None, decisions: _Decisions, *, now: datetime, using: str
) -> None:
    """Decides about the claimed jobs of a locked series, which stand in the order of their occurrences."""
    ids = [job.id for job in mine]
    if series.overlap == Series.Overlap.SKIP:
        if live is None:
            _note(series, live=ids[0], waiting=None, using=using)
            decisions.skipped += ids[1:]
        else:
            decisions.skipped += [job_id for job_id in ids if job_id != live.id]
        return
    newest = mine[-1]
    if series.waiting_job and series.waiting_job not in ids and (live is None or live.id in ids):
        waiting = Job.objects.using(using).filter(id=series.waiting_job, status=_PENDING).first()
        if waiting is not None and (waiting.occurrence_at or waiting.due_at, waiting.id) > _order(newest):
            # A retry of the live one came before the one that is to take its place.
            decisions.replaced += ids
            decisions.woken.append(waiting.id)
            _note(series, live=None, waiting=None, using=using)
            return
    if live is None or live.id in ids:
        decisions.replaced += ids[:-1]
        live_id = newest.id
    elif (live.occurrence_at or live.due_at, live.id) > _order(newest):
        decisions.replaced += ids
        return
    elif _called_off(live.id, now=now, using=using):
        decisions.replaced += ids[:-1]
        live_id = newest.id
    else:
        # It runs at this moment: its attempt is let end, and the new one begins after it.
        decisions.replaced += ids[:-1]
        decisions.waiting.append(newest.id)
        if series.waiting_job and series.waiting_job != newest.id:
            decisions.cancelled.append(series.waiting_job)
        _note(series, live=live.id, waiting=newest.id, using=using)
        return
    if series.waiting_job and series.waiting_job != newest.id:
        decisions.cancelled.append(series.waiting_job)
    _note(series, live=live_id, waiting=None, using=using)


def _called_off(job_id: UUID, *, now: datetime, using: str) -> bool:
    """Whether the job waited for a retry, which is cancelled now."""
    return bool(_cancel([job_id], now=now, using=using))


def _cancel(ids: Sequence[UUID], *, now: datetime, using: str) -> int:
    rows = Job.objects.using(using).filter(id__in=ids, status=Transition.CANCEL.source)
    return rows.update(
        status=Transition.CANCEL.target,
        last_error=REPLACED,
        error_class=error_class.OVERLAP,
        finished_at=now,
        updated_at=now,
        version=F("version") + 1,
    )


def _note(series: Series, *, live: UUID | None, waiting: UUID | None, using: str) -> None:
    if (series.live_job, series.waiting_job) != (live, waiting):
        Series.objects.using(using).filter(id=series.pk).update(live_job=live, waiting_job=waiting)


def _write(decisions: _Decisions, answer: ClaimAnswer, *, now: datetime, using: str) -> None:
    given_back = [*decisions.skipped, *decisions.replaced, *decisions.waiting]
    if not given_back and not decisions.cancelled:
        return
    if decisions.woken:
        Job.objects.using(using).filter(id__in=decisions.woken, status=_PENDING).update(next_run_at=now)
    ours = Job.objects.using(using).filter(status=_RUNNING, lease_token=answer.token)
    once = BizType.objects.using(using).filter(guarantee=BizType.Guarantee.AT_MOST_ONCE)
    # The claim counted the attempt of those that may be sent once only, and there was none.
    ours.filter(id__in=given_back, biz_type_id__in=once.values("id")).update(attempts=F("attempts") - 1)
    after = {"lease_until": None, "lease_token": None, "updated_at": now, "version": F("version") + 1}
    for ids, reason in ((decisions.skipped, SKIPPED), (decisions.replaced, REPLACED)):
        if ids:
            ours.filter(id__in=ids).update(
                status=Transition.OVERLAP.target,
                last_error=reason,
                error_class=error_class.OVERLAP,
                finished_at=now,
                **after,
            )
    if decisions.waiting:
        ours.filter(id__in=decisions.waiting).update(
            status=Transition.GIVE_BACK.target, next_run_at=now + WAIT, last_error=SKIPPED, **after
        )
    if decisions.cancelled:
        _cancel(decisions.cancelled, now=now, using=using)


#: When an occurrence is claimed again that would be too late, but whose series has yet to say what an outage made late.
SETTLE_WAIT = timedelta(seconds=1)
_AFTER_OUTAGE = f"""j.occurrence_at IS NOT NULL AND j.attempts = 0 AND EXISTS (
    SELECT FROM delayhub_series s
    WHERE s.id = j.series_id AND s.make_at < %(now)s - interval '{MISSED.total_seconds()} s'
)"""


def _is_after_outage(job: Job, decision: Decision, claim: Claim, in_turn: bool) -> bool:
    """Return True for an occurrence that no worker has taken, and whose series should have been looked at long ago."""
    if not decision.by_lateness or job.series_id is None or job.occurrence_at is None or job.attempts:
        return False
    return Series.objects.using(claim.using).filter(id=job.series_id, make_at__lt=claim.now - MISSED).exists()


WAITS_FOR_SERIES = WaitRule(
    name="unsettled",
    rank=30,
    when=f"after_outage AND decision IN {among(one for one in Decision if one.by_lateness)}",
    columns={"after_outage": _AFTER_OUTAGE},
    holds=_is_after_outage,
    again_after=SETTLE_WAIT,
)


def _settle(answer: ClaimAnswer, claim: Claim) -> None:
    if any(job.series_id is not None for job in answer.claimed):
        settle_overlaps(answer, now=claim.now, using=claim.using)


SETTLES_OVERLAPS = ClaimHook(rank=10, settle=_settle)
