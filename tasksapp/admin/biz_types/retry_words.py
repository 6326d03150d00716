"""A retry schedule in a sentence and as a table: when each attempt comes if the ones before it fail."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import duration, listed
from tasksapp.jobs.retry_policy import GivesUp, RetrySchedule, ScheduledAttempt

#: Waits that the sentence names, and attempts that the table shows. A policy may have a thousand.
NAMED, SHOWN = 6, 100


def schedule_context(schedule: RetrySchedule | None) -> dict[str, Any]:
    """Return the context of ``retry_schedule.html``. ``schedule`` is None if what was typed is not valid."""
    if schedule is None:
        return {"schedule": None}
    return {
        "schedule": schedule,
        "schedule_sentence": schedule_sentence(schedule),
        "schedule_rows": [_row(attempt) for attempt in schedule.attempts[:SHOWN]],
        "schedule_left_out": max(0, len(schedule.attempts) - SHOWN),
    }


def schedule_sentence(schedule: RetrySchedule) -> str:
    """Return a sentence: ``Waits 10 s, 20 s, 40 s …; gives up after 16 attempts, 7 h 25 min.``"""
    if len(schedule.attempts) == 1 and schedule.gives_up is GivesUp.ATTEMPTS:
        return _("One attempt and no retry.")
    waits = [duration(seconds=attempt.wait_least) for attempt in schedule.attempts[1 : NAMED + 1]]
    more = " …" if len(schedule.attempts) > NAMED + 1 else ""
    values = {"waits": listed(waits) + more, "attempts": _attempts(schedule), "time": _lasts(schedule)}
    if not waits:
        return _("No retry: the age ends it after the first attempt.")
    match schedule.gives_up:
        case GivesUp.AGE:
            return _("Waits %(waits)s; the age ends it after %(attempts)s, %(time)s.") % values
        case GivesUp.EITHER:
            return _("Waits %(waits)s; gives up after %(attempts)s or by age, %(time)s.") % values
    return _("Waits %(waits)s; gives up after %(attempts)s, %(time)s.") % values


def _row(attempt: ScheduledAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "wait": _range(attempt.wait_least, attempt.wait_most) if attempt.number > 1 else "",
        "after": _range(attempt.after_least, attempt.after_most) if attempt.number > 1 else "",
        "is_certain": attempt.is_certain,
    }


def _attempts(schedule: RetrySchedule) -> str:
    most, fewest = schedule.last.number, schedule.fewest
    if fewest == most or schedule.gives_up is GivesUp.EITHER:
        return ngettext("%(count)s attempt", "%(count)s attempts", most) % {"count": most}
    return _("%(fewest)s to %(most)s attempts") % {"fewest": fewest, "most": most}


def _lasts(schedule: RetrySchedule) -> str:
    return _range(schedule.last.after_least, schedule.latest_seconds)


def _range(least: float, most: float) -> str:
    shortest, longest = duration(seconds=least), duration(seconds=most)
    if shortest == longest:
        return shortest
    return _("%(shortest)s to %(longest)s") % {"shortest": shortest, "longest": longest}
