"""What a person should know before an operation starts: how old its jobs are, and what would hold them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.delivery_banner import health_of, reason_for
from tasksapp.admin.frame.fragments import clock_time, duration, number, percent, time_away
from tasksapp.biz_types.holds import holds
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.verb_words import RUNS, RUNS_AT_ONCE
from tasksapp.models import BizType, Operation, Status
from tasksapp.operations.cursor import Cursor
from tasksapp.operations.verbs import source_of

#: Biz types whose holds are named one by one.
MOST_NAMED = 10


def hindrances(request: HttpRequest, verb: str, biz_types: Iterable[BizType]) -> list[str]:
    """Why nothing would happen now, or why the jobs would wait afterwards; a sentence each.

    Args:
        request: of the person; only superusers see addresses of servers.
        verb: what would be done.
        biz_types: those of the jobs, as far as they are known.
    """
    found, now = [], timezone.now()
    if reason := reason_for(request, health_of(request)):
        found.append(_("Workers act on the jobs, and nothing moves for now: %(reason)s.") % {"reason": reason})
        biz_types = [one for one in biz_types if one.is_shut(now=now)]  # the others wait for the same reason
    if verb in RUNS_AT_ONCE:
        held = list(holds(biz_types, now=now).values())
        found += [_("The jobs would wait: %(reason)s.") % {"reason": reason} for reason in held[:MOST_NAMED]]
        if (more := len(held) - MOST_NAMED) > 0:
            text = ngettext("%(count)s more biz type is held.", "%(count)s more biz types are held.", more)
            found.append(text % {"count": number(more)})
    return found


def breadth(job_filter: JobFilter) -> str:
    """A sentence of warning where the filter leaves out no job; '' where it names some."""
    narrowing = {name for name in job_filter.as_dict() if name != "status"}
    return "" if narrowing else _("No filter is set: this is for all such jobs of every biz type.")


def limits(operation: Operation, rate: float | None, *, now: datetime) -> list[str]:
    """What may make an operation slower than that pace; a sentence each."""
    found = [_("Fresh jobs keep their time: where they need the room, it takes longer.")]
    if sentence := slower_than_the_pace(operation, rate, now=now):
        found.append(sentence)
    return found if operation.verb in RUNS_AT_ONCE else found[1:]


def slower_than_the_pace(operation: Operation, rate: float | None, *, now: datetime) -> str:
    """When the last job goes out, where the delivery rate of the biz type is below the pace; '' where it is not."""
    biz_type, jobs = operation.biz_type, operation.planned or 0
    if biz_type is None or not biz_type.delivery_rate or operation.verb not in RUNS or not jobs:
        return ""
    if rate is not None and rate <= biz_type.delivery_rate:
        return ""
    seconds = jobs / biz_type.delivery_rate
    return _("%(biz_type)s delivers %(rate)s a second at most: the last one goes out at %(time)s at the earliest.") % {
        "biz_type": biz_type.label,
        "rate": rate_words(biz_type.delivery_rate),
        "time": _later(now, seconds),
    }


def finish_words(operation: Operation, rate: float | None, *, now: datetime) -> str:
    """When the last job of an operation has its turn, at that pace."""
    begins = max(operation.due_at or now, now)
    if rate is None:
        if operation.due_at is None:
            return _("Goes as fast as possible.")
        return _("All of them become due at %(time)s.") % {"time": clock_time(begins)}
    seconds = (operation.planned or 0) / rate
    words = {"rate": rate_words(rate), "time": _later(begins, seconds), "span": duration(seconds=seconds)}
    if operation.due_at is not None:
        return _("%(rate)s a second: the last one becomes due at %(time)s.") % words
    return _("%(rate)s a second: will finish at %(time)s, in %(span)s.") % words


def _later(time: datetime, seconds: float) -> str:
    try:
        return clock_time(time + timedelta(seconds=seconds))
    except OverflowError:
        return _("never")


def rate_words(rate: float) -> str:
    """A rate with as many digits as help: ``0.25``, ``74.4``, ``1,200``."""
    return f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}"


def facts(operation: Operation, *, now: datetime) -> list[str]:
    """How old the counted jobs are, and what that means for them; a sentence each."""
    ages = Cursor.of(operation).ages
    if ages.oldest is None or ages.newest is None:
        return []
    if source_of(operation.verb) == Status.DEAD:
        words = _("The first died at %(oldest)s (%(oldest_away)s), the last at %(newest)s (%(newest_away)s).")
    else:
        words = _("The first is due at %(oldest)s (%(oldest_away)s), the last at %(newest)s (%(newest_away)s).")
    found = [
        words
        % {
            "oldest": clock_time(ages.oldest),
            "oldest_away": time_away(ages.oldest, now=now),
            "newest": clock_time(ages.newest),
            "newest_away": time_away(ages.newest, now=now),
        }
    ]
    if sentence := _too_old(operation, ages.older):
        found.append(sentence)
    return found


def _too_old(operation: Operation, older: int) -> str:
    """What becomes of the jobs that are older than the max age of their biz type; '' where none is."""
    if not older or not operation.planned:
        return ""
    share = {"share": percent(older / operation.planned), "jobs": number(older)}
    if operation.verb == Operation.VerbName.RUN_NOW:
        words = _("%(share)s (%(jobs)s) are older than the max age of their biz type: they would be dead at once.")
    elif operation.verb == Operation.VerbName.REDRIVE:
        words = _(
            "%(share)s (%(jobs)s) are older than the max age of their biz type."
            " A redrive gives them a new age, so they are sent all the same."
        )
    else:
        return ""
    return words % share
