"""Hooks that follow outcomes of jobs: timers of jobs that waited for these, other jobs that are cancelled, signals."""

from __future__ import annotations

from tasksapp.access.actors import RECEIVER
from tasksapp.extending.outcome_hooks import OutcomeHook, Outcomes
from tasksapp.jobs.bulk import BATCH_ROWS, apply_many
from tasksapp.jobs.follow_ups import has_receivers, send_signals
from tasksapp.jobs.verbs import Verb
from tasksapp.models import LIVE, BizType, Job, Status
from tasksapp.sql.keep_last import wake_waiting
from tasksapp.sql.series_overlap import release_series
from tasksapp.timers.timer import Timer


def _release_series(outcomes: Outcomes) -> list[Timer]:
    """Note that live jobs of series have ended. Return the timers of the jobs that waited for it."""
    ids = [one.job.row.series_id for one in outcomes.tried if one.job.row.series_id is not None]
    if not ids:
        return []
    woken = outcomes.on_live_connection(lambda: release_series(ids, now=outcomes.now, using=outcomes.using))
    return [Timer.of(job, job.biz_type) for job in woken]


def _wake_waiting(outcomes: Outcomes) -> list[Timer]:
    """Return the timers of jobs that waited for one of these to end, as biz types that keep the last have them."""
    ended = {
        (one.job.row.biz_type_id, one.job.row.biz_id)
        for one in outcomes.kept
        if one.job.biz_type.one_live == BizType.OneLive.LAST and not one.runs_again
    }
    if not ended:
        return []
    woken = outcomes.on_live_connection(lambda: wake_waiting(ended, now=outcomes.now, using=outcomes.using))
    return [Timer.of(job, job.biz_type) for job in woken]


def _cancel_others(outcomes: Outcomes) -> None:
    """Cancel the other live jobs of the business keys of jobs whose receivers asked for it."""
    for one in outcomes.tried:
        row = one.job.row
        if not one.cancel_others or not row.biz_id:
            continue
        others = Job.objects.using(outcomes.using).filter(
            biz_type_id=row.biz_type_id, biz_id=row.biz_id, status__in=LIVE
        )
        ids = list(others.exclude(id=row.id).values_list("id", flat=True)[:BATCH_ROWS])
        apply_many(Verb.CANCEL, ids, by=RECEIVER, using=outcomes.using)


def _send_signals(outcomes: Outcomes) -> None:
    if has_receivers(Status.SUCCEEDED) or has_receivers(Status.DEAD):
        ended = [one.ended for one in outcomes.kept if has_receivers(one.finished.status)]
        send_signals([job for job in ended if job.status in {Status.SUCCEEDED, Status.DEAD}], using=outcomes.using)


RELEASES_SERIES = OutcomeHook(rank=20, timers=_release_series)
WAKES_WAITING = OutcomeHook(rank=30, timers=_wake_waiting)
CANCELS_OTHERS = OutcomeHook(rank=40, follow=_cancel_others)
SENDS_SIGNALS = OutcomeHook(rank=50, follow=_send_signals)
