"""``delayhub series …``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import click

from delayhub.cli.biz_type_names import BIZ_TYPE
from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.job_display import shown_body
from delayhub.cli.operation_commands import carried_out, counted, speed
from delayhub.cli.output import coloured
from delayhub.cli.series_input import SERIES, Name, content, fields_of, number_of, schedule
from delayhub.cli.session import Session
from delayhub.cli.site_options import MOMENT, YES, SiteGroup
from delayhub.cli.times import relative, shown
from delayhub.client import JobSeries, JobSeriesFields
from delayhub.client.models.series import ScheduleFields

COLUMNS = ("#id", "biz type", "name", "when", "next", "state", "#made")
VERSION = click.option("--version", type=int, help="The version you saw; if it has another, nothing is changed.")
REASON = click.option("--reason", default="", help="Why; it is kept.")


@click.group(cls=SiteGroup)
def series() -> None:
    """Jobs that repeat.

    \b
        delayhub series create report.daily morning --cron "0 9 * * 1-5" --time-zone Asia/Shanghai
        delayhub series pause report.daily/morning --reason holidays
        delayhub series backfill report.daily/morning --since 2027-01-01

    A series is named by its number, or as BIZ_TYPE/NAME.
    """


@series.command(name="list")
@click.option("--biz-type", type=BIZ_TYPE)
@click.option("--paused/--not-paused", default=None, help="Only such.")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="How many, at most; 0: all.")
@click.pass_obj
def list_(session: Session, /, biz_type: str | None, paused: bool | None, limit: int) -> None:
    """List series, the newest first."""
    with session.client() as api:
        size = min(limit + 1, 1_000) if limit else 1_000
        found = api.series.list(biz_type=biz_type, paused=paused, page_size=size)
        session.out.several(found, COLUMNS, _row, most=limit, none="No series matches.")


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@click.pass_obj
def show(session: Session, name: Name) -> None:
    """Show a series."""
    with session.client() as api:
        _show(session, api.series.read(number_of(api, name)))


@series.command()
@schedule
@click.option("--most", type=click.IntRange(1, 100), default=10, show_default=True, help="How many.")
@click.pass_obj
def preview(session: Session, /, most: int, **given: Any) -> None:
    """Show what a schedule means, and its next times. Nothing is stored."""
    with session.client() as api:
        found = api.series.preview(most=most, **cast("ScheduleFields", fields_of(given)))
    session.out.one(found, [("", found.words), *(("", shown(at)) for at in found.occurrences)])


@series.command()
@click.argument("biz_type", type=BIZ_TYPE)
@click.argument("name")
@schedule
@content
@click.pass_obj
def create(session: Session, /, biz_type: str, name: str, **given: Any) -> None:
    """Make a series NAME of BIZ_TYPE. It takes one of --cron, --every and --at."""
    with session.client() as api:
        _show(session, api.series.create(biz_type, name=name, **cast("Any", fields_of(given))))


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@click.option("--name", "new_name", help="Its new name.")
@schedule
@content
@VERSION
@click.pass_obj
def change(session: Session, /, name: Name, new_name: str | None, version: int | None, **given: Any) -> None:
    """Change what is given of a series. Jobs to come that no worker has taken follow."""
    fields = fields_of(given) | ({"name": new_name} if new_name else {})
    if not fields:
        raise click.UsageError("What is to change? Give at least one option; --help lists them.")
    with session.client() as api:
        changed = api.series.change(number_of(api, name), version=version, **cast("JobSeriesFields", fields))
    _show(session, changed)


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@REASON
@click.pass_obj
def pause(session: Session, name: Name, reason: str) -> None:
    """Hold a series. What is due or runs already goes on."""
    with session.client() as api:
        _show(session, api.series.pause(number_of(api, name), reason=reason))


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@REASON
@click.pass_obj
def resume(session: Session, name: Name, reason: str) -> None:
    """Let a paused series go on with its next occurrence. Nothing of the pause is caught up."""
    with session.client() as api:
        _show(session, api.series.resume(number_of(api, name), reason=reason))


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@REASON
@click.pass_obj
def trigger(session: Session, name: Name, reason: str) -> None:
    """Make a job of a series that is due now, and show the job's id."""
    with session.client() as api:
        job = api.series.trigger(number_of(api, name), reason=reason)
    session.out.one({"job_id": job}, [("job", job)])


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@click.option("--since", type=MOMENT, required=True, help="The first occurrence may be then: a time, or -30d (ago).")
@click.option("--until", type=MOMENT, help="The last one comes before; without it: now.")
@REASON
@speed
@click.option("--at-most", type=click.IntRange(0), help="Do nothing if there are more.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
@YES
@click.pass_obj
def backfill(
    session: Session,
    /,
    *,
    name: Name,
    since: datetime,
    until: datetime | None,
    reason: str,
    at_most: int | None,
    no_wait: bool,
    yes: bool,
    **pace: Any,
) -> ExitCode:
    """Make the jobs of past occurrences that have none: count them, ask, start, and follow it to its end.

    It is an operation: `delayhub operations` lists, paces and stops it.
    """
    with session.client() as api:
        planned = api.series.backfill(number_of(api, name), since=since, until=until, reason=reason)
        planned = counted(session, api, planned)
        return carried_out(session, api, planned, at_most=at_most, no_wait=no_wait, yes=yes, pace=pace)


@series.command()
@click.argument("name", metavar="SERIES", type=SERIES)
@YES
@click.pass_obj
def delete(session: Session, name: Name, yes: bool) -> None:
    """Delete a series, and those of its jobs that no worker has taken."""
    with session.client() as api:
        found = api.series.read(number_of(api, name))
        session.confirm(f"Delete the series {found.biz_type}/{found.name}?", yes=yes)
        api.series.delete(found.id)
    session.out.note("Deleted.")


def _state(found: JobSeries) -> str:
    if found.paused_at is not None:
        return "paused"
    return "active" if found.next_at is not None else "ended"


def _row(found: JobSeries) -> Sequence[Any]:
    coming = "-" if found.next_at is None else relative(found.next_at)
    return (str(found.id), found.biz_type, found.name, found.words, coming, coloured(_state(found)), found.made)


def _show(session: Session, found: JobSeries) -> None:
    paused = f"{shown(found.paused_at)} {found.paused_by} {found.pause_reason}".rstrip()
    session.out.one(
        found,
        [
            ("series", str(found.id)),
            ("biz type", found.biz_type),
            ("name", found.name),
            ("when", found.words),
            ("next", shown(found.next_at)),
            ("state", coloured(_state(found))),
            *([("paused", paused)] if found.paused_at is not None else []),
            ("made", found.made),
            ("overlap", found.overlap),
            ("catch-up", found.catch_up),
            ("biz id", found.biz_id),
            ("flow key", found.flow_key),
            *([("content type", found.content_type)] if found.content_type else []),
            ("body", shown_body(found)),
            ("declared by", found.declared_by),
            ("version", found.version),
        ],
    )
