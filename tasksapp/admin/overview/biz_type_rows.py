"""The biz types on the overview: those that need a person first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from django.utils.safestring import SafeString

from tasksapp.admin.frame.fragments import DASH, address, duration, flow_state, number, time_away
from tasksapp.admin.frame.links import jobs_address
from tasksapp.biz_types.breaker import Breaker, callback_host
from tasksapp.models import BizType
from tasksapp.stats.counts import Counts
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
        urgency: where it stands in the table.
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
    urgency: Urgency
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


def biz_type_rows(
    biz_types: Iterable[BizType],
    *,
    counts: Counts,
    summaries: Mapping[int, PulseSummary],
    breakers: Mapping[str, Breaker] | None,
    site: str,
    now: datetime,
) -> list[BizTypeRow]:
    """A row for each, the most urgent first, then by code; breakers are None where Redis does not answer."""
    rows = [
        _row(
            biz_type,
            counts=counts,
            summary=summaries.get(biz_type.pk, PulseSummary()),
            breaker=(breakers or {}).get(biz_type.code),
            has_redis=breakers is not None,
            site=site,
            now=now,
        )
        for biz_type in biz_types
    ]
    return sorted(rows, key=lambda row: (row.urgency, row.code))


def _row(
    biz_type: BizType,
    *,
    counts: Counts,
    summary: PulseSummary,
    breaker: Breaker | None,
    has_redis: bool,
    site: str,
    now: datetime,
) -> BizTypeRow:
    found = counts.of(biz_type.pk)
    is_late = found.due_now > 0 and found.oldest_due_at is not None and now - found.oldest_due_at > LATE

    def count(value: int) -> str:
        return number(value, bounded=counts.bounded)

    def jobs(tab: str, value: int) -> str:
        return jobs_address(site=site, tab=tab, biz_type=biz_type.code) if value else ""

    is_held = biz_type.is_shut(now=now)
    if breaker is not None and not is_held:
        urgency = Urgency.DOWN
    elif is_late and not is_held:
        urgency = Urgency.LATE
    elif is_held:
        urgency = Urgency.HELD if found.pending else Urgency.IDLE
    elif found.dead:
        urgency = Urgency.DEAD
    else:
        urgency = Urgency.ALIVE if found.pending or found.running else Urgency.IDLE
    return BizTypeRow(
        pk=biz_type.pk,
        urgency=urgency,
        code=biz_type.code,
        url=address("tasksapp_biztype_change", biz_type.pk, site=site),
        flow=flow_state(biz_type, breaker, has_redis=has_redis, now=now),
        reason=biz_type.pause_reason if is_held else "",
        unsigned=biz_type.is_unsigned,
        due_now=count(found.due_now),
        due_url=jobs("due", found.due_now),
        is_late=is_late,
        lateness=duration(ms=summary.lateness_p99_ms),
        pending=count(found.pending),
        pending_url=jobs("pending", found.pending),
        dead=count(found.dead),
        dead_url=jobs("dead", found.dead),
        next_due=time_away(max(found.next_due_at, now), now=now) if found.next_due_at else DASH,
        next_at=found.next_due_at,
        receiver=callback_host(biz_type) if biz_type.target == BizType.Target.HTTP else biz_type.task_name,
    )
