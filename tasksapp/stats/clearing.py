"""Clearing: how long the jobs of a biz type that are due take at the current rate."""

from __future__ import annotations

from django.utils.translation import gettext as _

from tasksapp.stats.pulses import PulseSummary
from tasksapp.stats.written import duration


def clearing_seconds(due_now: int, recent: PulseSummary) -> float | None:
    """Return the seconds until no job is due, or None if none has succeeded in the last minutes.

    Args:
        due_now: jobs that are due.
        recent: the numbers of the last minutes. Jobs that become due in the meantime are not taken into account.
    """
    return due_now / recent.done_per_minute * 60 if recent.done_per_minute else None


def clearing_sentence(due_now: int, recent: PulseSummary, *, bound: int | None = None) -> str:
    """Return a sentence for people, or '' if no job is due.

    Args:
        due_now: jobs that are due.
        recent: the numbers of the last minutes.
        bound: the number at which counting stopped, None if every job was counted.
    """
    if not due_now:
        return ""
    seconds = clearing_seconds(due_now, recent)
    if seconds is None:
        return _("Not clearing: no job has succeeded in the last five minutes.")
    if bound is not None and due_now >= bound:
        return _("Clears in more than %(time)s at the current rate.") % {"time": duration(seconds=seconds)}
    return _("Clears in about %(time)s at the current rate.") % {"time": duration(seconds=seconds)}
