"""How numbers, times and lengths of time are written for people."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

#: What stands where there is no value.
DASH = "-"


def number(value: int | None, *, bound: int | None = None) -> str:
    """A number with its thousands separated; with a ``+`` from the bound on where the count ended, a dash for None."""
    if value is None:
        return DASH
    return f"{value:,}+" if bound is not None and value >= bound else f"{value:,}"


def duration(*, seconds: float | None = None, ms: float | None = None) -> str:
    """A length of time by its two greatest units: ``8 ms``, ``41 s``, ``6 min 40 s``, ``2 h``; a dash for None."""
    if ms is None:
        if seconds is None:
            return DASH
        ms = seconds * 1000
    sign = "-" if ms < 0 else ""
    ms = abs(ms)
    if ms < 1000:
        return sign + _("%(n)d ms") % {"n": round(ms)}
    if ms < 10_000 and round(ms / 1000, 1) % 1:
        return sign + _("%(n)s s") % {"n": f"{ms / 1000:.1f}"}
    whole = round(ms / 1000)
    if whole < 60:
        return sign + _("%(n)s s") % {"n": whole}
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes_left = divmod(minutes, 60)
    days, hours_left = divmod(hours, 24)
    if days:
        text = _("%(days)d d %(hours)d h") if hours_left else _("%(days)d d")
    elif hours:
        text = _("%(hours)d h %(minutes)d min") if minutes_left else _("%(hours)d h")
    else:
        text = _("%(minutes)d min %(seconds)d s") if seconds_left else _("%(minutes)d min")
    parts = {
        "days": days,
        "hours": hours_left if days else hours,
        "minutes": minutes_left if hours else minutes,
        "seconds": seconds_left,
    }
    return sign + text % parts


def clock_time(value: datetime) -> str:
    """The time of the day in the current zone, ``22:14:03``; with the day where it is not today."""
    local = timezone.localtime(value)
    today = timezone.localtime().date() == local.date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
