"""How numbers are shown, once and again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text

from delayhub.cli.output import coloured
from delayhub.cli.times import relative
from delayhub.client import BizTypeNumbers, Health, Stats

BIZ_TYPE_COLUMNS = ("biz type", "#waiting", "#due now", "#running", "#dead", "#done a minute", "#failing", "#late ms")


def number(value: int, *, bounded: bool) -> str:
    """A number, or that there are so many or more."""
    return f"{value:,}+" if bounded and value else f"{value:,}"


def share(value: float | None) -> str:
    """A share in per cent; nothing where there were no attempts."""
    return "" if value is None else f"{100 * value:.3g} %"


def health_text(health: Health) -> Text:
    """Whether jobs are delivered, in one line."""
    if health.is_ok:
        return coloured("ok")
    return Text(f"{health.state}: {health.sentence}", style="red")


def stats_rows(stats: Stats, health: Health) -> list[tuple[str, Any]]:
    """The totals, by names."""
    total = stats.total
    late = (
        ""
        if total.lateness_p50_ms is None
        else f"{total.lateness_p50_ms:,} ms, 99 in 100: {total.lateness_p99_ms:,} ms"
    )
    oldest = total.oldest_due_at
    return [
        ("delivery", health_text(health)),
        ("waiting", number(total.pending, bounded=stats.bounded)),
        ("due now", number(total.due_now, bounded=stats.bounded)),
        ("running", total.running),
        ("dead", coloured_dead(total.dead, bounded=stats.bounded)),
        ("first due", relative(oldest) if oldest else ""),
        ("done a minute", total.done_per_minute),
        ("failing", share(total.failing_share)),
        ("half begin within", late),
        ("counted", relative(stats.as_of)),
    ]


def biz_type_row(stats: Stats) -> Callable[[BizTypeNumbers], Sequence[Any]]:
    """What makes the cells of a biz type."""

    def row(numbers: BizTypeNumbers) -> Sequence[Any]:
        late = "" if numbers.lateness_p99_ms is None else numbers.lateness_p99_ms
        return (
            numbers.biz_type,
            number(numbers.pending, bounded=stats.bounded),
            number(numbers.due_now, bounded=stats.bounded),
            numbers.running,
            coloured_dead(numbers.dead, bounded=stats.bounded),
            numbers.done_per_minute,
            share(numbers.failing_share),
            late,
        )

    return row


def coloured_dead(dead: int, *, bounded: bool) -> Text:
    """How many jobs are dead; in red where there are some."""
    return Text(number(dead, bounded=bounded), style="red" if dead else "")
