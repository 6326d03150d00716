"""Pieces of HTML that several pages of the admin show."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from delayhub.clock import due_ms
from tasksapp.biz_types.breaker import Breaker
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.stats.written import DASH, clock_time, duration, number  # noqa: F401  pages find these here, too


class Tile(NamedTuple):
    """A number that is seen at once: what it is, what else there is to say, where it leads, and its colour."""

    label: str
    value: str
    note: str = ""
    url: str = ""
    tone: str = ""


def badge(text: str, kind: str) -> SafeString:
    """A coloured word; the style sheet has a colour for each kind."""
    return format_html('<span class="delayhub-badge delayhub-{}">{}</span>', kind, text)


def quiet(text: object) -> SafeString:
    """A text that stands back."""
    return format_html('<span class="delayhub-quiet">{}</span>', text)


def listed(words: Iterable[str]) -> str:
    """The words, with the sign between them that lists have in the reader's language."""
    return pgettext("between the words of a list", ", ").join(words)


def named(name: str, value: str) -> str:
    """The value behind its name, as the reader's language has it."""
    return pgettext("a value behind its name", "%(name)s: %(value)s") % {"name": name, "value": value}


def sentence(text: str) -> str:
    """The text as a whole sentence: with a capital, and the full stop of the reader's language."""
    return pgettext("a whole sentence", "%(text)s.") % {"text": f"{text[:1].upper()}{text[1:]}"}


def percent(share: float | None) -> str:
    """A share of one in percent: ``3 %``, ``0.4 %``, ``0 %``; a dash for None."""
    if share is None:
        return DASH
    value = share * 100
    shown = f"{value:.1f}" if 0 < value < 10 and round(value, 1) != round(value) else f"{value:.0f}"
    if value > 0 and float(shown) == 0:
        shown = "< 0.1"
    if value < 100 and shown == "100":
        shown = "> 99"
    return _("%(number)s %%") % {"number": shown}


def local_time(value: datetime | None, *, now: datetime | None = None) -> SafeString:
    """A time in the current zone and how far away it is, in seconds below a minute; a dash for None."""
    if value is None:
        return quiet(DASH)
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time> <span class="delayhub-quiet">{}</span>',
        value.isoformat(),
        local.strftime("%Y-%m-%d %H:%M:%S"),
        time_away(value, now=now),
    )


def away(value: datetime | None, *, now: datetime) -> SafeString:
    """How far a time is away, with the time itself for programs; a dash for None."""
    if value is None:
        return quiet(DASH)
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), time_away(value, now=now))


def time_away(value: datetime, *, now: datetime | None = None) -> str:
    """How far a time is away: ``in 41 s``, ``now``, ``2 hours ago``."""
    now = now or timezone.now()
    away = value - now
    if abs(away) < timedelta(seconds=1):
        return _("now")
    if abs(away) < timedelta(minutes=1):
        span = _("%(n)s s") % {"n": int(abs(away).total_seconds())}
    else:
        span = timeuntil(value, now, depth=1) if value > now else timesince(value, now, depth=1)
    return (_("in %(span)s") if value > now else _("%(span)s ago")) % {"span": span}


def flow_state(  # noqa: PLR0911  a table of states
    biz_type: BizType,
    breaker: Breaker | None = None,
    *,
    has_redis: bool = True,
    lacks_puller: bool = False,
    now: datetime | None = None,
) -> SafeString:
    """A badge that says whether jobs of the biz type go out, and if not, why and for how long.

    Args:
        biz_type: the biz type.
        breaker: the breaker of its receiver, where Redis has one.
        has_redis: whether Redis answered; while it does not, nothing flows.
        lacks_puller: whether its due jobs are pulled, and no puller has asked for them lately.
        now: the present.
    """
    now = now or timezone.now()
    if not biz_type.enabled:
        return badge(_("disabled"), "disabled")
    if biz_type.is_shut(now=now):
        return badge(_paused(biz_type), "paused")
    if not has_redis or lacks_puller:
        return badge(_("no puller asks for its jobs") if has_redis else _("Redis does not answer"), "down")
    if breaker is None or breaker.open_until_ms is None:
        return badge(_("flowing"), "flowing")
    wait = ceil((breaker.open_until_ms - due_ms(now)) / 1000)
    if breaker.no_token:
        return badge(_("no access token: %(reason)s") % {"reason": breaker.no_token}, "down")
    if wait > 0:
        return badge(_("receiver down, retry in %(seconds)d s") % {"seconds": wait}, "down")
    return badge(_("receiver down, trying one job at a time"), "down")


def address(name: str, *args: object, site: str) -> str:
    """The address of a page on the admin site of that name; '' where that site does not have the page."""
    try:
        return reverse(f"admin:{name}", args=args, current_app=site)
    except NoReverseMatch:
        return ""


def _paused(biz_type: BizType) -> str:
    """``paused by ada until 22:10``: by whom and until when, as far as that is known."""
    ends = biz_type.paused_until
    who = biz_type.paused_by
    if ends is None or ends >= UNTIL_RESUMED:
        return _("paused by %(person)s") % {"person": who} if who else _("paused")
    local = timezone.localtime(ends)
    until = local.strftime("%H:%M" if local.date() == timezone.localtime().date() else "%Y-%m-%d %H:%M")
    if who:
        return _("paused by %(person)s until %(time)s") % {"person": who, "time": until}
    return _("paused until %(time)s") % {"time": until}


def jobs_address(*, site: str, **chosen: str) -> str:
    """The list of the jobs that are chosen so, by names of a JobFilter or a ``tab``; '' where a site has no list."""
    return _with_query(address("tasksapp_job_changelist", site=site), chosen)


def plan_address(verb: str, *, site: str, **chosen: str) -> str:
    """The page that plans an operation: the verb for all jobs that are chosen so; '' where a site has none."""
    return _with_query(address("tasksapp_operation_plan", site=site), {"verb": verb, **chosen})


def _with_query(url: str, query: dict[str, str]) -> str:
    return url and f"{url}?{urlencode(query)}"
