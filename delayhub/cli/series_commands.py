"""``delayhub series …``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast, get_args

import click

from delayhub.api_models.series import CatchUp, Overlap, ScheduleFields
from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.job_display import carried, shown_body
from delayhub.cli.job_input import field_options, with_exact_bytes
from delayhub.cli.operation_commands import carried_out, counted, speed
from delayhub.cli.output import coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import (
    A_BIZ_TYPE,
    BIZ_TYPE,
    DURATION,
    MOMENT,
    REASON,
    YES,
    Parsed,
    SiteGroup,
    limit_option,
    options,
    page_size,
)
from delayhub.cli.times import relative, shown
from delayhub.client import JobSeries, JobSeriesFields
from delayhub.errors import OptionError
from delayhub.job_fields import Content

#: A series' number, or its biz type and its name.
Name = int | tuple[str, str]


class SeriesName(Parsed):
    """A series' number, or its biz type and its name: ``report.daily/morning``."""

    name = "series"

    def parse(self, text: str) -> Name:
        """The number, or the biz type and the name. Raises OptionError."""
        if text.isascii() and text.isdigit():
            return int(text)
        biz_type, slash, name = text.partition("/")
        if not (slash and biz_type and name):
            raise OptionError(f"a series is named by its number, or as BIZ_TYPE/NAME, got {text!r}")
        return biz_type, name


SERIES = SeriesName()


class NoSuchSeries(click.ClickException):
    """There is no series of that name, or the key may not see it."""

    exit_code = ExitCode.NOT_FOUND


def number_of(session: Session, name: Name) -> int:
    """The number of the series. Raises NoSuchSeries where there is none of that name."""
    if isinstance(name, int):
        return name
    found = next(iter(session.api.series.list(biz_type=name[0], name=name[1], page_size=1)), None)
    if found is None:
        raise NoSuchSeries(f"{name[0]} has no series {name[1]!r}.")
    return found.id


#: The options that say when a series runs.
schedule = options(
    click.option("--cron", help="Such as '0 9 * * 1-5'; with six fields the first is that of the seconds."),
    click.option("--time-zone", help="That of --cron, such as Asia/Shanghai."),
    click.option("--every", type=DURATION, help="In place of --cron: how long from one to the next."),
    click.option("--at", "times", type=MOMENT, multiple=True, help="In place of --cron; several times."),
    click.option("--anchor", type=MOMENT, help="One of the times that --every leads to."),
    click.option("--starts-at", type=MOMENT, help="None is due before."),
    click.option("--ends-at", type=MOMENT, help="None is due after."),
    click.option("--count", type=click.IntRange(1), help="It ends after so many."),
    click.option("--jitter", type=DURATION, help="Each is due up to so much later."),
)


#: The options that say what the jobs of a series get, and how they get on with each other.
content = options(
    click.option("--overlap", type=click.Choice(get_args(Overlap)), help="If the one before has not finished."),
    click.option("--catch-up", type=click.Choice(get_args(CatchUp)), help="Which run after an outage."),
    click.option("--biz-id", help="The business key of its jobs."),
    field_options(Content),
)


def fields_of(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that the options give. Raises UsageError where there are two bodies."""
    found = {
        name: list(value) if name == "times" else value for name, value in given.items() if value not in (None, ())
    }
    return with_exact_bytes(found)


COLUMNS = ("#id", "biz type", "name", "when", "next", "state", "#made")
A_SERIES = click.argument("name", metavar="SERIES", type=SERIES)
VERSION = click.option("--version", type=int, help="The version you saw; if it has another, nothing is changed.")


@click.group(cls=SiteGroup)
def series() -> None:
    """Jobs that repeat.

    \b
        delayhub series create report.daily morning --cron "0 9 * * 1-5" --time-zone Asia/Shanghai
        delayhub series pause report.daily/morning --reason holidays
        delayhub series backfill report.daily/morning --since 2027-01-01

    A series is named by its number, or as BIZ_TYPE/NAME.
    """


@series.verb(
    click.option("--biz-type", type=BIZ_TYPE),
    click.option("--paused/--not-paused", default=None, help="Only such."),
    limit_option(50),
    name="list",
)
def list_(session: Session, /, biz_type: str | None, paused: bool | None, limit: int) -> None:
    """List series, the newest first."""
    found = session.api.series.list(biz_type=biz_type, paused=paused, page_size=page_size(limit))
    session.out.several(found, COLUMNS, _row, most=limit, none="No series matches.")


@series.verb(A_SERIES)
def show(session: Session, name: Name) -> None:
    """Show a series."""
    _show(session, session.api.series.read(number_of(session, name)))


@series.verb(
    schedule, click.option("--most", type=click.IntRange(1, 100), default=10, show_default=True, help="How many.")
)
def preview(session: Session, /, most: int, **given: Any) -> None:
    """Show what a schedule means, and its next times. Nothing is stored."""
    found = session.api.series.preview(most=most, **cast("ScheduleFields", fields_of(given)))
    session.out.one(found, [("", found.words), *(("", shown(at)) for at in found.occurrences)])


@series.verb(A_BIZ_TYPE, click.argument("name"), schedule, content)
def create(session: Session, /, biz_type: str, name: str, **given: Any) -> None:
    """Make a series NAME of BIZ_TYPE. It takes one of --cron, --every and --at."""
    _show(session, session.api.series.create(biz_type, name=name, **cast("Any", fields_of(given))))


@series.verb(A_SERIES, click.option("--name", "new_name", help="Its new name."), schedule, content, VERSION)
def change(session: Session, /, name: Name, new_name: str | None, version: int | None, **given: Any) -> None:
    """Change what is given of a series. Jobs to come that no worker has taken follow."""
    fields = fields_of(given) | ({"name": new_name} if new_name else {})
    if not fields:
        raise click.UsageError("What is to change? Give at least one option; --help lists them.")
    changed = session.api.series.change(number_of(session, name), version=version, **cast("JobSeriesFields", fields))
    _show(session, changed)


@series.verb(A_SERIES, REASON)
def pause(session: Session, name: Name, reason: str) -> None:
    """Hold a series. What is due or runs already goes on."""
    _show(session, session.api.series.pause(number_of(session, name), reason=reason))


@series.verb(A_SERIES, REASON)
def resume(session: Session, name: Name, reason: str) -> None:
    """Let a paused series go on with its next occurrence. Nothing of the pause is caught up."""
    _show(session, session.api.series.resume(number_of(session, name), reason=reason))


@series.verb(A_SERIES, REASON)
def trigger(session: Session, name: Name, reason: str) -> None:
    """Make a job of a series that is due now, and show the job's id."""
    job = session.api.series.trigger(number_of(session, name), reason=reason)
    session.out.one({"job_id": job}, [("job", job)])


@series.verb(
    A_SERIES,
    click.option(
        "--since", type=MOMENT, required=True, help="The first occurrence may be then: a time, or -30d (ago)."
    ),
    click.option("--until", type=MOMENT, help="The last one comes before; without it: now."),
    REASON,
    speed,
    click.option("--at-most", type=click.IntRange(0), help="Do nothing if there are more."),
    click.option("--no-wait", is_flag=True, help="Do not wait for its end."),
    YES,
)
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
    planned = session.api.series.backfill(number_of(session, name), since=since, until=until, reason=reason)
    planned = counted(session, planned)
    return carried_out(session, planned, at_most=at_most, no_wait=no_wait, yes=yes, pace=pace)


@series.verb(A_SERIES, YES)
def delete(session: Session, name: Name, yes: bool) -> None:
    """Delete a series, and those of its jobs that no worker has taken."""
    found = session.api.series.read(number_of(session, name))
    session.confirm(f"Delete the series {found.biz_type}/{found.name}?", yes=yes)
    session.api.series.delete(found.id)
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
            *carried(found),
            ("body", shown_body(found)),
            ("declared by", found.declared_by),
            ("version", found.version),
        ],
    )
