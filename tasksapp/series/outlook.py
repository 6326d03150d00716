"""Preview: the next occurrences of a schedule that need not exist yet, and what it means in words."""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta
from functools import partial
from itertools import islice, takewhile, tee
from typing import Any, NamedTuple

import cron_descriptor
from cron_descriptor import ExpressionDescriptor, Options
from django.utils import dates, timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from tasksapp.errors import InvalidSeries
from tasksapp.models import Series
from tasksapp.series.cron import cron
from tasksapp.series.fields import SCHEDULE, check, values_of
from tasksapp.series.plan import schedule_of

#: Occurrences that a preview shows at most.
MOST = 100
#: Fields of which the library that makes the sentences is known to say what the one that walks them does.
_PLAIN = re.compile(r"\*|(\*/)?\d+|[A-Z]{3}(-[A-Z]{3})?|\d+(,\d+)*|\d+-\d+(/\d+)?")
_PLAIN_DAY = re.compile(_PLAIN.pattern + "|L|LW")
_PLAIN_WEEKDAY = re.compile(_PLAIN.pattern + r"|[0-7]L|[0-7]#[1-5]|[A-Z]{3}(,[A-Z]{3})*")
#: What the library raises where it does not know a field. django-celery-beat needs its release 1, with another name.
FormatError: type[Exception] = getattr(cron_descriptor, "FormatError", None) or cron_descriptor.FormatException
_CATALOGUES = {"zh-hans": "zh_CN", "zh-cn": "zh_CN"}
#: English names of days and months, which the library puts into sentences of all languages.
_NAMES = {
    **dict(zip(calendar.day_name, dates.WEEKDAYS.values(), strict=True)),
    **dict(zip(list(calendar.month_name)[1:], dates.MONTHS.values(), strict=True)),
}
_NAME = re.compile("|".join(sorted(_NAMES, key=len, reverse=True)))


class Preview(NamedTuple):
    """What a schedule means.

    Args:
        words: a sentence, in the language that is active.
        occurrences: the next ones, in UTC, without jitter.
    """

    words: str
    occurrences: list[datetime]


def preview(*, most: int = 10, after: datetime | None = None, **fields: Any) -> Preview:
    """The next occurrences of a schedule, and what it means in words.

    Args:
        most: how many occurrences, 100 at most.
        after: only those after that moment; None for now.
        fields: those of a series that say when it runs: ``cron``, ``time_zone``, ``every``, ``times`` and so on.

    Raises InvalidSeries or InvalidJob.
    """
    for name in fields:
        if name not in SCHEDULE:
            raise InvalidSeries(name, "unknown", f"a preview takes no field {name!r}")
    if not 1 <= most <= MOST:
        raise InvalidSeries("most", "range", f"a preview shows 1 to {MOST} occurrences, got {most}")
    now = timezone.now()
    row = Series()
    for name, value in values_of(fields).items():
        setattr(row, name, value)
    check(row, now=now)
    return Preview(words_of(row), coming(row, after=after or now, most=most))


def coming(series: Series, *, after: datetime, most: int) -> list[datetime]:
    """The next occurrences of a series, whether or not it is paused. Raises InvalidSeries."""
    moments = schedule_of(series).after(after)
    if series.count is not None:
        # It has counted those that are made, of which some still come.
        moments, others = tee(moments)
        waiting = sum(1 for _at in islice(takewhile(partial(_is_made, series), others), most))
        most = min(most, max(0, series.count - series.made) + waiting)
    return list(islice(moments, most))


def _is_made(series: Series, at: datetime) -> bool:
    """Whether an occurrence to come is a job already; a series that has made its last one waits until that is due."""
    if series.next_occurrence_at is not None:
        return at < series.next_occurrence_at
    return series.make_at is not None and at <= series.make_at


def words_of(series: Series) -> str:
    """What the schedule of a series means. Raises InvalidSeries."""
    if series.cron:
        return cron_words(series.cron, time_zone=series.time_zone)
    return interval_words(series.every) if series.every is not None else times_words(len(series.times))


def cron_words(expression: str, *, time_zone: str = "UTC") -> str:
    """What the expression means. Raises InvalidSeries where it cannot be."""
    cron(expression, time_zone=time_zone)
    fields = expression.upper().split()
    said = _library_words(" ".join(fields)) if _is_plain(fields) else None
    if said is None:
        said = _own_words(fields)
    return _("%(when)s (%(zone)s time)") % {"when": said, "zone": time_zone}


def interval_words(every: timedelta) -> str:
    """How long it is from one occurrence to the next."""
    seconds = every.total_seconds()
    if seconds != int(seconds):
        return _("Every %(seconds)s seconds") % {"seconds": f"{seconds:g}"}
    whole = int(seconds)
    if whole % 86_400 == 0:
        count = whole // 86_400
        return ngettext("Every day", "Every %(count)d days", count) % {"count": count}
    if whole % 3_600 == 0:
        count = whole // 3_600
        return ngettext("Every hour", "Every %(count)d hours", count) % {"count": count}
    if whole % 60 == 0:
        count = whole // 60
        return ngettext("Every minute", "Every %(count)d minutes", count) % {"count": count}
    return ngettext("Every second", "Every %(count)d seconds", whole) % {"count": whole}


def times_words(count: int) -> str:
    """How many times are listed."""
    return ngettext("At %(count)d time", "At %(count)d times", count) % {"count": count}


def _is_plain(fields: list[str]) -> bool:
    """Whether the library's sentence can be trusted."""
    *others, day, _month, weekday = fields
    both = day != "*" and weekday != "*"
    # The two differ about days of the month and of the week that must match both.
    if both and (day.startswith("*") or weekday.startswith("*")):
        return False
    plain = all(_PLAIN.fullmatch(field) for field in (*others, _month))
    return plain and bool(_PLAIN_DAY.fullmatch(day)) and bool(_PLAIN_WEEKDAY.fullmatch(weekday))


def _library_words(expression: str) -> str | None:
    options = Options()
    options.locale_code = _CATALOGUES.get(get_language() or "", "en_US")
    options.use_24hour_time_format = True
    try:
        said = ExpressionDescriptor(expression, options).get_full_description()
    except (FormatError, ValueError, IndexError):
        return None
    return _NAME.sub(lambda name: str(_NAMES[name[0]]), said)


def _own_words(fields: list[str]) -> str:
    """The fields one by one, and whether days must match both of theirs."""
    names = [_("second"), _("minute"), _("hour"), _("day of the month"), _("month"), _("day of the week")]
    said = [
        _("%(field)s %(values)s") % {"field": name, "values": values}
        for name, values in zip(names[-len(fields) :], fields, strict=True)
        if values != "*"
    ]
    day, weekday = fields[-3], fields[-1]
    if day != "*" and weekday != "*":
        both = day.startswith("*") or weekday.startswith("*")
        said.append(
            _("on days that match both the day of the month and the day of the week")
            if both
            else _("on days that match the day of the month or the day of the week")
        )
    return _("At these times: %(fields)s") % {"fields": "; ".join(said)}
