"""``delayhub stats``, ``issues`` and ``audit``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from delayhub.cli.output import Output, coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import BIZ_TYPE, DURATION, MOMENT, SiteCommand, limit_option, page_size
from delayhub.cli.times import relative, shown
from delayhub.client import (
    AuditEntry,
    BizTypeNumbers,
    Health,
    Issue,
    QuotaUse,
    RateLimited,
    ServerUnavailable,
    Stats,
    Unreachable,
)

ONE_BIZ_TYPE = click.option("--biz-type", type=BIZ_TYPE, help="Only this one.")
QUOTA_COLUMNS = ("quota", "#used", "#of")
ISSUE_COLUMNS = ("biz type", "error class", "#dead", "#today", "last", "what happened", "one of them")
AUDIT_COLUMNS = ("at", "who", "what was done", "to", "reason", "changed")


@click.command(cls=SiteCommand)
@ONE_BIZ_TYPE
@click.pass_obj
def stats(session: Session, biz_type: str | None) -> None:
    """How many jobs wait, run and are dead, how the last five minutes were, and whether jobs are delivered."""
    found, health = session.api.stats.read(biz_type=biz_type), session.api.stats.health()
    if session.as_json:
        session.out.json({"stats": found, "health": health})
        return
    session.out.one(found, stats_rows(found, health))
    session.out.note("")
    session.out.several(found.biz_types, BIZ_TYPE_COLUMNS, biz_type_row(found), none="There is no biz type.")
    session.out.note("")
    session.out.several(found.quotas, QUOTA_COLUMNS, _quota_row, none="There are no quotas.")


@click.command(cls=SiteCommand)
@ONE_BIZ_TYPE
@click.pass_obj
def issues(session: Session, biz_type: str | None) -> None:
    """The dead jobs, grouped by biz type and kind of error."""
    session.out.several(session.api.stats.issues(biz_type=biz_type), ISSUE_COLUMNS, _issue_row, none="No job is dead.")


@click.command(cls=SiteCommand)
@click.option("--actor", help="Such as ada, api:checkout or receiver.")
@click.option("--verb", help="Such as cancel, biz_type.pause or operation.start.")
@ONE_BIZ_TYPE
@click.option("--job", help="About this job, by its id.")
@click.option("--operation", type=int, help="About this operation.")
@click.option("--since", type=MOMENT, help="A time, or -2h (ago).")
@click.option("--until", type=MOMENT)
@limit_option(50)
@click.pass_obj
def audit(session: Session, /, *, limit: int, since: datetime | None, until: datetime | None, **query: Any) -> None:
    """Who did what, the newest first."""
    found = session.api.audit.list(since=since, until=until, page_size=page_size(limit), **query)
    session.out.several(found, AUDIT_COLUMNS, _audit_row, most=limit, none="No deed matches.")


def _quota_row(use: QuotaUse) -> Sequence[Any]:
    return use.quota.replace("_", " "), "?" if use.used is None else use.used, use.limit


def _issue_row(issue: Issue) -> Sequence[Any]:
    last = relative(issue.last_at) if issue.last_at else ""
    return (
        *(issue.biz_type, issue.error_class, issue.dead, issue.today, last),
        *(issue.description, issue.sample_job_id),
    )


def _audit_row(entry: AuditEntry) -> Sequence[Any]:
    what = entry.what or entry.job_id or entry.biz_type or entry.operation_id
    changes = ", ".join(
        f"{name}: {json.dumps(entry.before.get(name), ensure_ascii=False)} -> {json.dumps(after, ensure_ascii=False)}"
        for name, after in entry.after.items()
    )
    return shown(entry.at), entry.actor, entry.verb, str(what), entry.reason, changes[:200]


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


@click.command(cls=SiteCommand)
@ONE_BIZ_TYPE
@click.option("--every", type=DURATION, default="2s", show_default=True, help="How often it is looked.")
@click.option("--times", type=click.IntRange(1), help="How often at all; without it, until Ctrl-C.")
@click.pass_obj
def watch(session: Session, biz_type: str | None, every: timedelta, times: int | None) -> None:
    """Show the numbers of a site again and again. With --json, or in a pipe, one object a line."""
    pause = max(0.1, every.total_seconds())
    if session.as_json or not sys.stdout.isatty():
        _as_lines(session, biz_type, pause=pause, times=times)
        return
    with Live(console=session.out.console, screen=True, auto_refresh=False) as live:
        done = 0
        while times is None or done < times:
            live.update(_look(session, biz_type), refresh=True)
            done += 1
            time.sleep(pause)


def _as_lines(session: Session, biz_type: str | None, *, pause: float, times: int | None) -> None:
    done = 0
    while times is None or done < times:
        if done:
            time.sleep(pause)
        found, health = session.api.stats.read(biz_type=biz_type), session.api.stats.health()
        session.out.json_line({"stats": found, "health": health})
        sys.stdout.flush()
        done += 1


def _look(session: Session, biz_type: str | None) -> Group:
    """The numbers now; what keeps them from coming, where the site does not answer."""
    api = session.api
    try:
        return screen(session.out, api.stats.read(biz_type=biz_type), api.stats.health(), url=api.url)
    except (Unreachable, ServerUnavailable, RateLimited) as error:
        return Group(Text(api.url, style="bold"), Text(str(error), style="red"), Text("It is asked again …"))


def screen(out: Output, stats: Stats, health: Health, *, url: str) -> Group:
    """What a terminal shows."""
    return Group(
        Text(url, style="bold"),
        "",
        out.names_and_values(stats_rows(stats, health)),
        "",
        out.table(stats.biz_types, BIZ_TYPE_COLUMNS, biz_type_row(stats)),
        "",
        Text("Ctrl-C ends", style="dim"),
    )
