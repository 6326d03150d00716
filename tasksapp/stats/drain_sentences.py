"""What forecasts say: sentences for people about jobs that wait, and when they are done."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from tasksapp.stats.backlog import Busy
from tasksapp.stats.capacity import Capacity, Limit
from tasksapp.stats.written import clock_time, duration, number


def no_job_waits(capacity: Capacity) -> str:
    """That no job is due, and how many could be done a second."""
    return _("No job waits (%(limit)s)") % {"limit": _limit(capacity)}


def held_back(jobs: str, *, is_enabled: bool) -> str:
    """That so many jobs wait for a person, who resumes or enables their biz type."""
    if is_enabled:
        return _("%(jobs)s jobs wait until the biz type is resumed") % {"jobs": jobs}
    return _("%(jobs)s jobs wait until the biz type is enabled") % {"jobs": jobs}


def not_within_a_day(jobs: str, capacity: Capacity) -> str:
    """That so many jobs are due, and are too many for a day."""
    words = {"jobs": jobs, "limit": _limit(capacity)}
    return _("%(jobs)s jobs are due, and they will not be done within a day (%(limit)s)") % words


def done_at(jobs: str, at: datetime, capacity: Capacity) -> str:
    """When so many jobs are done."""
    words = {"jobs": jobs, "done": clock_time(at), "limit": _limit(capacity)}
    return _("%(jobs)s jobs are due; done at %(done)s (%(limit)s)") % words


def done_between(jobs: str, earliest: datetime, latest: datetime, capacity: Capacity) -> str:
    """Between which times so many jobs are done; where both are of one second, that second."""
    if clock_time(earliest) == clock_time(latest):
        return done_at(jobs, latest, capacity)
    words = {
        "jobs": jobs,
        "earliest": clock_time(earliest),
        "latest": clock_time(latest),
        "limit": _limit(capacity),
    }
    return _("%(jobs)s jobs are due; done between %(earliest)s and %(latest)s (%(limit)s)") % words


def done_by_keys(jobs: str, earliest: datetime, latest: datetime | None, capacity: Capacity) -> str:
    """When so many jobs are done whose flow keys have limits; ``latest`` is for one key with all of them."""
    words = {"jobs": jobs, "earliest": clock_time(earliest), "limit": _limit(capacity)}
    if latest is None:
        return (
            _(
                "%(jobs)s jobs are due; done at %(earliest)s at the soonest (%(limit)s), and later the fewer flow keys"
                " they have: each has a limit"
            )
            % words
        )
    words["latest"] = clock_time(latest)
    return (
        _(
            "%(jobs)s jobs are due; done between %(earliest)s (%(limit)s) and %(latest)s (if all had one flow key: each"
            " has a limit)"
        )
        % words
    )


def peak_ahead(busy: Busy, capacity: Capacity, *, biz_type: str, has_key_limits: bool = False) -> str:
    """How many jobs come at once, when, and how late they are done."""
    words = {
        "jobs": number(round(busy.jobs)),
        "at": clock_time(busy.begins),
        "biz_type": biz_type,
        "limit": _limit(capacity),
        "late": duration(seconds=busy.wait_seconds),
    }
    if busy.ends is None:
        return _("%(jobs)s at %(at)s %(biz_type)s; %(limit)s: not done within a day") % words
    words["done"] = clock_time(busy.ends)
    if has_key_limits:
        text = _(
            "%(jobs)s at %(at)s %(biz_type)s; %(limit)s: done %(done)s at the soonest, since each flow key has a limit"
        )
        return text % words
    return _("%(jobs)s at %(at)s %(biz_type)s; %(limit)s: done %(done)s, %(late)s late") % words


def _limit(capacity: Capacity) -> str:
    words = {"pace": pace_of(capacity.per_second)}
    match capacity.limited_by:
        case Limit.RATE:
            return _("limit %(pace)s/s") % words
        case Limit.SLOTS:
            return _("the jobs in flight allow %(pace)s/s") % words
        case Limit.WORKERS:
            return _("the workers do %(pace)s/s") % words
    return _("about %(pace)s/s, not measured yet") % words


def pace_of(per_second: float) -> str:
    """How many a second: a limit as it was set, a measured pace with no more digits than say something."""
    if per_second == round(per_second, 3):
        return f"{per_second:,.10g}"
    return f"{per_second:,.3g}" if per_second < 10 else number(round(per_second))
