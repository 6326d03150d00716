"""``delayhub stats``, ``issues``, ``forecast`` and ``audit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from delayhub.cli.biz_type_names import BIZ_TYPE
from delayhub.cli.output import coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import MOMENT, SiteCommand
from delayhub.cli.stats_display import BIZ_TYPE_COLUMNS, biz_type_row, number, stats_rows
from delayhub.cli.times import relative, shown, span
from delayhub.client import AuditEntry, Drain, Issue, Peak

ONE_BIZ_TYPE = click.option("--biz-type", type=BIZ_TYPE, help="Only this one.")
PEAK_COLUMNS = ("biz type", "at", "#jobs", "late by", "what happens")
ISSUE_COLUMNS = ("biz type", "error class", "#dead", "#today", "last", "what happened", "one of them")
AUDIT_COLUMNS = ("at", "who", "what was done", "to", "reason", "changed")


@click.command(cls=SiteCommand)
@ONE_BIZ_TYPE
@click.pass_obj
def stats(session: Session, biz_type: str | None) -> None:
    """How many jobs wait, run and are dead, how the last five minutes were, and whether jobs are delivered."""
    with session.client() as api:
        found, health = api.stats.read(biz_type=biz_type), api.stats.health()
    if session.as_json:
        session.out.json({"stats": found, "health": health})
        return
    session.out.one(found, stats_rows(found, health))
    session.out.note("")
    session.out.several(found.biz_types, BIZ_TYPE_COLUMNS, biz_type_row(found), none="There is no biz type.")


@click.command(cls=SiteCommand)
@ONE_BIZ_TYPE
@click.pass_obj
def issues(session: Session, biz_type: str | None) -> None:
    """The dead jobs, grouped by biz type and kind of error."""
    with session.client() as api:
        session.out.several(api.stats.issues(biz_type=biz_type), ISSUE_COLUMNS, _issue_row, none="No job is dead.")


@click.command(cls=SiteCommand)
@click.argument("biz_type", type=BIZ_TYPE, required=False)
@click.option("--rate", help="What if so many attempts began a second? `none`: without that limit.")
@click.option("--in-flight", help="What if so many could be under way? `none`: without that limit.")
@click.pass_obj
def forecast(session: Session, biz_type: str | None, rate: str | None, in_flight: str | None) -> None:
    """When the jobs of BIZ_TYPE that wait are done; without one, where jobs will come faster than they can be done."""
    if biz_type is None:
        if rate or in_flight:
            raise click.UsageError("--rate and --in-flight are for one BIZ_TYPE")
        with session.client() as api:
            found = api.stats.peaks()
        session.out.several(found, PEAK_COLUMNS, _peak_row, none="In the next day all jobs can be done in time.")
        return
    with session.client() as api:
        drain = api.stats.drain(biz_type, delivery_rate=rate, max_in_flight=in_flight)
    session.out.one(drain, _drain_rows(drain))


@click.command(cls=SiteCommand)
@click.option("--actor", help="Such as ada, api:checkout or receiver.")
@click.option("--verb", help="Such as cancel, biz_type.pause or operation.start.")
@ONE_BIZ_TYPE
@click.option("--job", help="About this job, by its id.")
@click.option("--operation", type=int, help="About this operation.")
@click.option("--since", type=MOMENT, help="A time, or -2h (ago).")
@click.option("--until", type=MOMENT)
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="How many, at most; 0: all.")
@click.pass_obj
def audit(session: Session, /, *, limit: int, since: datetime | None, until: datetime | None, **query: Any) -> None:
    """Who did what, the newest first."""
    with session.client() as api:
        page = min(limit + 1, 1_000) if limit else 1_000
        found = api.audit.list(since=since, until=until, page_size=page, **query)
        session.out.several(found, AUDIT_COLUMNS, _audit_row, most=limit, none="No deed matches.")


def _issue_row(issue: Issue) -> Sequence[Any]:
    last = relative(issue.last_at) if issue.last_at else ""
    return (
        *(issue.biz_type, issue.error_class, issue.dead, issue.today, last),
        *(issue.description, issue.sample_job_id),
    )


def _peak_row(peak: Peak) -> Sequence[Any]:
    return peak.biz_type, shown(peak.at), peak.jobs, span(peak.late_seconds), peak.sentence


def _drain_rows(drain: Drain) -> list[tuple[str, Any]]:
    return [
        ("biz type", drain.biz_type),
        ("due now", number(drain.due_now, bounded=drain.bounded)),
        ("", drain.sentence),
        ("done at", shown(drain.empty_at)),
        ("latest job late by", span(drain.peak_lateness_seconds)),
        ("done a second", drain.capacity_per_second),
        ("limited by", coloured(drain.limited_by)),
        ("counted", relative(drain.as_of)),
    ]


def _audit_row(entry: AuditEntry) -> Sequence[Any]:
    what = entry.what or entry.job_id or entry.biz_type or entry.operation_id
    changes = ", ".join(
        f"{name}: {json.dumps(entry.before.get(name), ensure_ascii=False)} -> {json.dumps(after, ensure_ascii=False)}"
        for name, after in entry.after.items()
    )
    return shown(entry.at), entry.actor, entry.verb, str(what), entry.reason, changes[:200]
