"""The biz types on the overview: those that need a person first."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.fragments import DASH, address, duration, flow_state, jobs_address, number, time_away
from tasksapp.biz_types.breaker import Breaker, callback_host
from tasksapp.models import BizType
from tasksapp.stats.counts import BizTypeCounts, Counts
from tasksapp.stats.pulses import PulseSummary

#: Jobs that wait for longer than this after their time are late, and an attempt that begins so late is, too.
LATE = timedelta(seconds=5)


class Urgency(IntEnum):
    """Which biz types come first in the table."""

    DOWN = 0
    LATE = 1
    HELD = 2
    DEAD = 3
    ALIVE = 4
    IDLE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class BizTypeRow:
    """One biz type in the table; an address is '' where there is none.

    Args:
        pk: its id.
        code: what callers name it by.
        url: its page.
        flow: whether its jobs go out, in words.
        reason: why it is paused, in the words of who paused it.
        unsigned: whether its receiver cannot know who calls.
        due_now: jobs whose time has come.
        due_url: the list of them.
        is_late: whether one of them is late.
        lateness: how late attempts began, at most, in the last minutes.
        pending: jobs that wait.
        pending_url: the list of them.
        dead: jobs that were given up.
        dead_url: the list of them.
        next_due: how far the next one is away.
        next_at: when that is.
        receiver: who gets its jobs.
    """

    pk: int
    code: str
    url: str
    flow: SafeString
    reason: str
    unsigned: bool
    due_now: str
    due_url: str
    is_late: bool
    lateness: str
    pending: str
    pending_url: str
    dead: str
    dead_url: str
    next_due: str
    next_at: datetime | None
    receiver: str


class Standing(NamedTuple):
    """Where a biz type stands in the table: sorted, the most urgent first, then by code.

    Args:
        urgency: how soon it needs a person.
        code: what callers name it by.
        biz_type: the biz type.
        is_late: whether one of its jobs is late.
        is_held: whether it is paused or disabled.
    """

    urgency: Urgency
    code: str
    biz_type: BizType
    is_late: bool
    is_held: bool


def standings(
    biz_types: Iterable[BizType], *, counts: Counts, breakers: Mapping[str, Breaker] | None, now: datetime
) -> list[Standing]:
    """All biz types in the order of the table; breakers are None where Redis does not answer."""
    found = (_standing(each, counts.of(each.pk), is_down=each.queue in (breakers or {}), now=now) for each in biz_types)
    return sorted(found, key=lambda standing: standing[:2])


def biz_type_rows(
    standings: Iterable[Standing],
    *,
    counts: Counts,
    summaries: Mapping[int, PulseSummary],
    breakers: Mapping[str, Breaker] | None,
    lonely: Container[str] = (),
    site: str,
    now: datetime,
) -> list[BizTypeRow]:
    """A row for each of those that a page shows, in their order.

    Args:
        standings: those that are shown.
        counts: how many jobs there are.
        summaries: what was counted of attempts lately.
        breakers: those that are open; None where Redis does not answer.
        lonely: queues for whose jobs no puller asks.
        site: the name of the admin site.
        now: the present.
    """
    return [
        _row(
            standing,
            found=counts.of(standing.biz_type.pk),
            bound=counts.bound,
            summary=summaries.get(standing.biz_type.pk, PulseSummary()),
            flow=flow_state(
                standing.biz_type,
                (breakers or {}).get(standing.biz_type.queue),
                has_redis=breakers is not None,
                lacks_puller=standing.biz_type.queue in lonely and counts.of(standing.biz_type.pk).due_now > 0,
                now=now,
            ),
            site=site,
            now=now,
        )
        for standing in standings
    ]


def _standing(biz_type: BizType, found: BizTypeCounts, *, is_down: bool, now: datetime) -> Standing:
    is_late = found.due_now > 0 and found.oldest_due_at is not None and now - found.oldest_due_at > LATE
    is_held = biz_type.is_shut(now=now)
    if is_down and not is_held:
        urgency = Urgency.DOWN
    elif is_late and not is_held:
        urgency = Urgency.LATE
    elif is_held:
        urgency = Urgency.HELD if found.pending else Urgency.IDLE
    elif found.dead:
        urgency = Urgency.DEAD
    else:
        urgency = Urgency.ALIVE if found.pending or found.running else Urgency.IDLE
    return Standing(urgency, biz_type.label, biz_type, is_late, is_held)


def _row(
    standing: Standing,
    *,
    found: BizTypeCounts,
    bound: int | None,
    summary: PulseSummary,
    flow: SafeString,
    site: str,
    now: datetime,
) -> BizTypeRow:
    biz_type = standing.biz_type

    def count(value: int) -> str:
        return number(value, bound=bound)

    def jobs(tab: str, value: int) -> str:
        return jobs_address(site=site, tab=tab, biz_type=biz_type.label) if value else ""

    return BizTypeRow(
        pk=biz_type.pk,
        code=biz_type.label,
        url=address("tasksapp_biztype_change", biz_type.pk, site=site),
        flow=flow,
        reason=biz_type.pause_reason if standing.is_held else "",
        unsigned=biz_type.is_unsigned,
        due_now=count(found.due_now),
        due_url=jobs("due", found.due_now),
        is_late=standing.is_late,
        lateness=duration(ms=summary.lateness_p99_ms),
        pending=count(found.pending),
        pending_url=jobs("pending", found.pending),
        dead=count(found.dead),
        dead_url=jobs("dead", found.dead),
        next_due=time_away(max(found.next_due_at, now), now=now) if found.next_due_at else DASH,
        next_at=found.next_due_at,
        receiver=_receiver(biz_type),
    )


def _receiver(biz_type: BizType) -> str:
    if biz_type.is_pulled:
        return _("pullers")
    return callback_host(biz_type) if biz_type.target == BizType.Target.HTTP else biz_type.task_name
