"""A retry schedule in words and as a drawing: when the attempts come, if each of them fails."""

from __future__ import annotations

from math import log1p
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import duration, listed
from tasksapp.jobs.retry_policy import GivesUp, RetrySchedule, ScheduledAttempt

#: Waits that the sentence names, and attempts that the table and the drawing show; a policy may have a thousand.
NAMED, SHOWN = 6, 100
#: Times that the axis may name, in seconds, and how near to each other two of them may stand, in percent.
TICKS = (1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000)
NEAREST = 16.0


def schedule_context(schedule: RetrySchedule | None) -> dict[str, Any]:
    """What ``retry_schedule.html`` shows; of no schedule, that there is none."""
    if schedule is None:
        return {"schedule": None}
    return {
        "schedule": schedule,
        "schedule_sentence": schedule_sentence(schedule),
        "schedule_drawing": schedule_drawing(schedule),
        "schedule_rows": [_row(attempt) for attempt in schedule.attempts[:SHOWN]],
        "schedule_left_out": max(0, len(schedule.attempts) - SHOWN),
    }


def schedule_sentence(schedule: RetrySchedule) -> str:
    """The schedule in one or two sentences: ``10 s, 20 s, 40 s … Gives up after 16 attempts, 7 h 25 min.``"""
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


def schedule_drawing(schedule: RetrySchedule) -> SafeString:
    """The attempts on a line of time, which shows short waits as well as long ones; jitter as a bar behind each."""
    shown = schedule.attempts[:SHOWN]
    whole = max(attempt.after_most for attempt in shown) or 1.0
    unit = next((attempt.after_least for attempt in shown if attempt.after_least > 0), 1.0)

    def x(seconds: float) -> float:
        return 2 + 96 * log1p(seconds / unit) / log1p(whole / unit)

    marks = format_html_join("", "{}", ((_mark(attempt, x),) for attempt in shown))
    return format_html(
        '<svg class="delayhub-schedule" role="img" aria-label="{}" focusable="false">'
        '<line class="delayhub-schedule-axis" x1="2%" x2="98%" y1="24" y2="24"/>{}{}</svg>',
        schedule_sentence(schedule),
        _ticks(whole, x),
        marks,
    )


def _mark(attempt: ScheduledAttempt, x: Any) -> SafeString:
    left, right = x(attempt.after_least), x(attempt.after_most)
    return format_html(
        '<g class="delayhub-schedule-{}"><title>{}</title><rect x="{}%" y="19" width="{}%" height="10" rx="3"/>'
        '<circle cx="{}%" cy="24" r="5"/></g>',
        "attempt" if attempt.is_certain else "perhaps",
        _title(attempt),
        f"{left:.2f}",
        f"{right - left:.2f}",
        f"{left:.2f}",
    )


def _ticks(whole: float, x: Any) -> SafeString:
    drawn: list[tuple[str, str, str]] = []
    last = 2.0
    for seconds in TICKS:
        at = x(seconds)
        if seconds <= whole and NEAREST / 2 < at < 96 and at - last >= NEAREST:
            drawn.append((f"{at:.2f}", f"{at:.2f}", duration(seconds=seconds)))
            last = at
    start = format_html('<text x="2%" y="48">{}</text>', _("first"))
    return start + format_html_join(
        "",
        '<line class="delayhub-schedule-tick" x1="{}%" x2="{}%" y1="32" y2="36"/>'
        '<text x="{}%" y="48" text-anchor="middle">{}</text>',
        ((left, right, left, text) for left, right, text in drawn),
    )


def _title(attempt: ScheduledAttempt) -> str:
    if attempt.number == 1:
        return _("Attempt 1, when the job is due")
    values = {"number": attempt.number, "time": _range(attempt.after_least, attempt.after_most)}
    if attempt.is_certain:
        return _("Attempt %(number)s, %(time)s after the first") % values
    return _("Attempt %(number)s, %(time)s after the first, unless the age is used up") % values


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
