"""What happens next to a job, and what holds it, in one sentence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import duration
from tasksapp.jobs.timer_look import TimerState
from tasksapp.models import Job, Status, error_class


def job_sentence(
    job: Job, *, now: datetime, held: str = "", timer: TimerState | None = None, error: str = "", zone: tzinfo = UTC
) -> str:
    """What happens next, or how it ended.

    Args:
        job: the job, with its biz type.
        now: the present.
        held: why due jobs of its biz type do not go out; '' where they do.
        timer: what Redis has for it, where it waits.
        error: its last error, as far as the person may see it.
        zone: the time zone of the person; UTC is said beside it.
    """
    match job.status:
        case Status.PENDING if job.next_run_at > now:
            return _ahead(job, now=now, held=held, timer=timer, error=error, zone=zone)
        case Status.PENDING:
            return _due(job, now=now, held=held, zone=zone)
        case Status.RUNNING:
            return _held(job, now=now, zone=zone) if job.biz_type.is_pulled else _running(job, now=now)
        case Status.DEAD:
            text = _("Dead since %(time)s: %(error)s.") if error else _("Dead since %(time)s.")
            return text % {"time": _at(job.finished_at, now=now, zone=zone), "error": error.rstrip(".")}
    return _ended(job, now=now, zone=zone)


def _ahead(job: Job, *, now: datetime, held: str, timer: TimerState | None, error: str, zone: tzinfo) -> str:
    values = {
        "span": _span(job.next_run_at - now),
        "time": _at(job.next_run_at, now=now, zone=zone),
        "number": job.attempts_used + 1,
        "most": _most(job),
        "error": error.rstrip("."),
        "timer": _timer(timer),
        "held": held,
    }
    if job.attempts_used and error:
        begin = (
            _("Tried again in %(span)s (%(time)s), attempt %(number)d of %(most)d; the last failed: %(error)s") % values
        )
    elif job.attempts_used:
        begin = _("Tried again in %(span)s (%(time)s), attempt %(number)d of %(most)d") % values
    else:
        begin = _("Due in %(span)s (%(time)s)") % values
    values["begin"] = begin
    if held and timer in {None, TimerState.UNKNOWN}:
        return _("%(begin)s; held if this lasts until then: %(held)s.") % values
    if held:
        return _("%(begin)s; %(timer)s; held if this lasts until then: %(held)s.") % values
    return _("%(begin)s; %(timer)s; nothing holds it.") % values


def _due(job: Job, *, now: datetime, held: str, zone: tzinfo) -> str:
    values = {
        "held": held,
        "span": _span(now - job.next_run_at),
        "time": _at(job.next_run_at, now=now, zone=zone),
        "number": job.attempts_used + 1,
        "most": _most(job),
    }
    if held:
        return _("Waits, due for %(span)s (%(time)s): %(held)s.") % values
    if job.biz_type.is_pulled:
        return _("Due for %(span)s (%(time)s), attempt %(number)d of %(most)d: it waits for a puller.") % values
    if job.attempts_used:
        return _("Due for %(span)s (%(time)s), attempt %(number)d of %(most)d: the next free worker takes it.") % values
    return _("Due for %(span)s (%(time)s): the next free worker takes it.") % values


def _held(job: Job, *, now: datetime, zone: tzinfo) -> str:
    counted = job.biz_type.guarantee == job.biz_type.Guarantee.AT_MOST_ONCE
    values = {
        "span": _span(now - job.updated_at),
        "puller": job.worker or _("of an unknown name"),
        "number": job.attempts_used + (0 if counted else 1),
        "most": _most(job),
        "until": _at(job.lease_until, now=now, zone=zone),
    }
    if job.lease_until is not None and job.lease_until < now:
        text = _(
            "Held for %(span)s by the puller %(puller)s, attempt %(number)d of %(most)d; its lease ended at %(until)s,"
            " and the job comes back soon."
        )
        return text % values
    return _("Held for %(span)s by the puller %(puller)s until %(until)s, attempt %(number)d of %(most)d.") % values


def _running(job: Job, *, now: datetime) -> str:
    # A job that may happen at most once counts its attempt when it begins, all others when it ends.
    counted = job.biz_type.guarantee == job.biz_type.Guarantee.AT_MOST_ONCE
    values = {
        "span": _span(now - job.updated_at),
        "worker": job.worker or _("of an unknown name"),
        "number": job.attempts_used + (0 if counted else 1),
        "most": _most(job),
    }
    text = _("Running for %(span)s on worker %(worker)s, attempt %(number)d of %(most)d.") % values
    if job.lease_until is not None and job.lease_until < now:
        late = _("Its worker has not been heard of for %(span)s: another one takes it soon.")
        return f"{text} {late % {'span': _span(now - job.lease_until)}}"
    return text


def _ended(job: Job, *, now: datetime, zone: tzinfo) -> str:
    values = {
        "time": _at(job.finished_at, now=now, zone=zone),
        "number": job.attempts_used,
        "person": job.changed_by,
    }
    match job.status:
        case Status.SUCCEEDED:
            text = _("Done at %(time)s, by attempt %(number)d.")
        case Status.CANCELLED if job.error_class == error_class.RESOLVED and job.biz_type.on_resolved:
            text = _("Answered at %(time)s; it never runs.")
        case Status.CANCELLED if job.error_class == error_class.RESOLVED:
            text = _("Its biz id was resolved at %(time)s; it never runs.")
        case Status.CANCELLED if job.changed_by:
            text = _("Cancelled at %(time)s by %(person)s; it never runs.")
        case Status.CANCELLED:
            text = _("Cancelled at %(time)s; it never runs.")
        case Status.SKIPPED:
            text = _("Skipped at %(time)s: it was too late, and its biz type says to skip then.")
        case _ if job.changed_by:
            text = _("Dropped by %(person)s; it died at %(time)s.")
        case _:
            text = _("Dropped; it died at %(time)s.")
    return text % values


def _timer(state: TimerState | None) -> str:
    match state:
        case TimerState.SET:
            return _("timer set")
        case TimerState.NOT_NEEDED:
            return _("its timer is set when the time comes near")
        case TimerState.MISSING:
            return _("no timer yet, the loader sets it soon")
    return _("Redis does not answer, so its timer is unknown")


def _most(job: Job) -> int:
    return job.max_attempts or job.biz_type.max_attempts


def _span(span: timedelta) -> str:
    return duration(seconds=max(0, int(span.total_seconds())))


def _at(time: datetime | None, *, now: datetime, zone: tzinfo) -> str:
    """``22:31:04 UTC, 06:31 Asia/Shanghai``; with the day where it is another one."""
    if time is None:
        return _("an unknown time")
    utc, here = time.astimezone(UTC), time.astimezone(zone)
    day = "%H:%M:%S" if utc.date() == now.astimezone(UTC).date() else "%Y-%m-%d %H:%M:%S"
    shown = f"{utc:{day}} UTC"
    if here.utcoffset() == utc.utcoffset():
        return shown
    day = "%H:%M" if here.date() == now.astimezone(zone).date() else "%Y-%m-%d %H:%M"
    return f"{shown}, {here:{day}} {zone}"
