"""``delayhub operations …``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast, get_args

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.output import coloured, jobs_in_words
from delayhub.cli.session import Session
from delayhub.cli.site_options import (
    BIZ_TYPE,
    DURATION,
    MOMENT,
    REASON,
    YES,
    SiteGroup,
    job_filters,
    limit_option,
    options,
    page_size,
)
from delayhub.cli.times import relative, shown
from delayhub.client import JobFilter, JobStatus, Operation, OperationState, OperationVerb

COLUMNS = ("#id", "verb", "jobs", "state", "#done", "#of", "began", "by")
VERB = click.Choice(get_args(OperationVerb))
OPERATION = click.argument("operation", type=int)
STATE = click.Choice(get_args(OperationState))
#: How long a site's workers may take to count the jobs of an operation.
COUNTING_SECONDS = 120.0


#: The options that say which jobs, what is new of them, and why.
what = options(
    job_filters,
    click.option("--status", type=click.Choice(get_args(JobStatus))),
    click.option("--id", "ids", multiple=True, help="A job's id; may be given several times."),
    click.option("--series", type=int, help="The number of the series that they are of."),
    click.option("--due-at", type=MOMENT, help="The new time; for reschedule."),
    REASON,
)
#: The options that say how fast, and with which trial.
speed = options(
    click.option("--rate", type=click.FloatRange(0, min_open=True), help="Jobs a second."),
    click.option("--spread", type=DURATION, help="Over how long, in place of a rate."),
    click.option("--trial", "trial_jobs", type=click.IntRange(0), help="So many jobs go first."),
    click.option("--trial-percent", type=click.IntRange(1, 100), help="The others go if so many of 100 succeed."),
)


@click.group(cls=SiteGroup)
def operations() -> None:
    """One verb for all jobs that match a filter: planned, started, followed, stopped.

    \b
        delayhub operations run redrive --status dead --biz-type order.close --reason "it was down"

    counts the jobs, asks, starts the operation, and shows how far it is.
    """


@operations.verb(click.argument("verb", type=VERB), what)
def plan(session: Session, /, verb: OperationVerb, due_at: datetime | None, reason: str, **jobs: Any) -> None:
    """Count the jobs that VERB is meant for. Nothing changes before `start`."""
    _show(session, _plan(session, verb, _filter(jobs), due_at=due_at, reason=reason))


@operations.verb(
    click.argument("verb", type=VERB),
    what,
    speed,
    click.option("--at-most", type=click.IntRange(0), help="Do nothing if more jobs match."),
    click.option("--no-wait", is_flag=True, help="Do not wait for its end."),
    YES,
)
def run(
    session: Session,
    /,
    *,
    verb: OperationVerb,
    due_at: datetime | None,
    reason: str,
    at_most: int | None,
    no_wait: bool,
    yes: bool,
    **given: Any,
) -> ExitCode:
    """Plan an operation, ask, start it, and follow it to its end."""
    pace = {name: given.pop(name) for name in ("rate", "spread", "trial_jobs", "trial_percent")}
    planned = _plan(session, verb, _filter(given), due_at=due_at, reason=reason)
    return carried_out(session, planned, at_most=at_most, no_wait=no_wait, yes=yes, pace=pace)


@operations.verb(OPERATION, speed, YES)
def start(session: Session, /, operation: int, yes: bool, **pace: Any) -> None:
    """Start an operation that is planned."""
    planned = session.api.operations.read(operation)
    session.confirm(f"{_verb(planned.verb)} {jobs_in_words(planned.planned or 0)}?", yes=yes)
    _show(session, _start(session, planned, **pace))


@operations.verb(OPERATION, click.option("--timeout", type=DURATION, help="How long to wait at most."))
def wait(session: Session, operation: int, timeout: timedelta | None) -> ExitCode:
    """Follow an operation until it has ended.

    Exits with 0 where it is done, with 7 where it failed or was stopped, with 8 where it has not ended in time.
    """
    return _follow(session, operation, timeout=timeout)


@operations.verb(OPERATION)
def show(session: Session, operation: int) -> None:
    """Show an operation, and how far it has come."""
    _show(session, session.api.operations.read(operation))


@operations.verb(
    click.option("--state", type=STATE, multiple=True, help="May be given several times."),
    click.option("--verb", type=VERB),
    click.option("--biz-type", type=BIZ_TYPE),
    limit_option(20),
    name="list",
)
def list_(session: Session, /, state: tuple[str, ...], limit: int, **given: Any) -> None:
    """List operations, the newest first."""
    states = cast("Sequence[OperationState]", state)
    found = session.api.operations.list(state=states, page_size=page_size(limit), **given)
    session.out.several(found, COLUMNS, _row, most=limit, none="No operation matches.")


@operations.verb(OPERATION, REASON)
def stop(session: Session, operation: int, reason: str) -> None:
    """Stop an operation. Jobs that it changed already stay changed."""
    _show(session, session.api.operations.stop(operation, reason=reason))


@operations.verb(OPERATION, click.option("--reason", default="", help="Why; without one, that of the operation."))
def rest(session: Session, operation: int, reason: str) -> None:
    """Plan what is left of an operation that stopped or failed.

    The jobs that it left are counted; `operations start` with the new number goes on with them. Asked twice, it shows
    the plan that is there already.
    """
    _show(session, counted(session, session.api.operations.rest(operation, reason=reason)))


@operations.verb(OPERATION, click.argument("rate", type=click.FloatRange(0, min_open=True), required=False))
def pace(session: Session, operation: int, rate: float | None) -> None:
    """Give a running operation another pace: RATE jobs a second; without it, as fast as possible."""
    _show(session, session.api.operations.pace(operation, rate_per_second=rate))


def counted(session: Session, operation: Operation) -> Operation:
    """The operation once its jobs are counted."""
    with session.out.waiting(f"operation {operation.id}: counting jobs"):
        return session.api.operations.wait_until_planned(operation.id, timeout_seconds=COUNTING_SECONDS)


def carried_out(
    session: Session,
    planned: Operation,
    *,
    at_most: int | None,
    no_wait: bool,
    yes: bool,
    pace: dict[str, Any],
) -> ExitCode:
    """Asks, starts an operation whose jobs are counted, and follows it to its end.

    Args:
        session: the command's.
        planned: the operation.
        at_most: nothing is done if more jobs match.
        no_wait: whether its end is not waited for.
        yes: whether it starts without asking the person.
        pace: what the options of ``speed`` gave.
    """
    count = planned.planned or 0
    if planned.state != "planned" or not count:
        _show(session, planned)
        return ExitCode.OK if planned.state == "planned" else ExitCode.ENDED_BADLY
    if at_most is not None and count > at_most:
        session.api.operations.stop(planned.id, reason=f"{jobs_in_words(count)} found, more than {at_most:,}")
        raise click.ClickException(f"{jobs_in_words(count)} found, more than {at_most:,}; nothing was changed.")
    session.confirm(f"{_verb(planned.verb)} {jobs_in_words(count)}?", yes=yes)
    started = _start(session, planned, **pace)
    if no_wait:
        _show(session, started)
        return ExitCode.OK
    return _follow(session, planned.id, timeout=None)


def _filter(jobs: dict[str, Any]) -> JobFilter:
    wanted = {name: value for name, value in jobs.items() if value not in (None, ())}
    if not wanted:
        raise click.UsageError("Which jobs? Give at least one of --status, --biz-type, --biz-id, --error-class, --id …")
    return cast("JobFilter", wanted)


def _plan(session: Session, verb: OperationVerb, jobs: JobFilter, *, due_at: datetime | None, reason: str) -> Operation:
    return counted(session, session.api.operations.plan(verb, jobs=jobs, due_at=due_at, reason=reason))


def _start(
    session: Session, planned: Operation, *, rate: float | None, spread: timedelta | None, **trial: Any
) -> Operation:
    # The person, or --yes, has just agreed to this number.
    return session.api.operations.start(
        planned.id, rate_per_second=rate, spread=spread, typed_count=planned.planned, **trial
    )


def _follow(session: Session, operation: int, *, timeout: timedelta | None) -> ExitCode:
    seconds = None if timeout is None else timeout.total_seconds()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=session.out.notes, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=None)
        for now in session.api.operations.progress(operation, timeout_seconds=seconds):
            bar.update(task, completed=now.done, total=now.planned, description=now.sentence)
    _show(session, now)
    return ExitCode.OK if now.state == "done" else ExitCode.ENDED_BADLY


def _verb(verb: str) -> str:
    return verb.replace("_", " ").capitalize()


def _row(operation: Operation) -> Sequence[Any]:
    return (
        *(str(operation.id), operation.verb, _jobs(operation), coloured(operation.state)),
        *(operation.done, operation.planned, relative(operation.created_at), operation.started_by),
    )


def _jobs(operation: Operation) -> str:
    return ", ".join(f"{name}={value}" for name, value in operation.filter.items() if value not in (None, "", []))


def _show(session: Session, operation: Operation) -> None:
    speed = "as fast as possible" if operation.rate_per_second is None else f"{operation.rate_per_second:g} a second"
    session.out.one(
        operation,
        [
            ("operation", str(operation.id)),
            ("verb", operation.verb),
            ("jobs", _jobs(operation)),
            ("state", coloured(operation.state)),
            ("", operation.sentence),
            ("planned", operation.planned),
            ("done", operation.done),
            ("since then", f"{operation.succeeded:,} succeeded, {operation.failed:,} failed, {operation.dead:,} died"),
            ("pace", speed),
            ("reason", operation.reason),
            ("by", operation.started_by),
            ("created", shown(operation.created_at)),
            ("ended", shown(operation.finished_at)),
        ],
    )
