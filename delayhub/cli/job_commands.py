"""``delayhub jobs …``."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, cast, get_args

import click
from click.core import ParameterSource

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.job_display import ATTEMPT_COLUMNS, JOB_COLUMNS, attempt_row, job_details, job_row
from delayhub.cli.job_import import import_jobs
from delayhub.cli.job_input import BODY, field_options, with_exact_bytes
from delayhub.cli.job_links import links, make_link, withdraw_link
from delayhub.cli.session import Session
from delayhub.cli.site_options import (
    A_BIZ_TYPE,
    BIZ_TYPE,
    DURATION,
    JOB,
    MOMENT,
    YES,
    SiteGroup,
    job_filters,
    limit_option,
    options,
    page_size,
)
from delayhub.cli.times import relative
from delayhub.client import ExportFormat, Job, JobChange, JobFields, JobKey, JobStatus

STATUSES = click.Choice(get_args(JobStatus))
COMMANDLINE = ParameterSource.COMMANDLINE
A_JOB = click.argument("job", type=JOB)
BIZ_ID = click.option("--biz-id", required=True, help="The business key, such as an order number.")
VERSION = click.option("--version", type=int, help="Only if the job still has this version.")
IN_ANY_STATUS = click.option("--status", type=STATUSES, multiple=True, help="May be given several times.")
#: What a list and an export are narrowed by beside the filters of all commands.
made_and_changed = options(
    click.option("--created-from", type=MOMENT),
    click.option("--created-until", type=MOMENT),
    click.option("--operation", type=int, help="The one that changed them last."),
    click.option("--series", type=int, help="The one that they are of."),
)


@click.group(cls=SiteGroup)
def jobs() -> None:
    """Create, find, change and wait for jobs.

    A job is named by its id, or by its biz type and biz id: order.close/order-42.
    """


for command in (import_jobs, make_link, links, withdraw_link):
    jobs.add_command(command)


@jobs.verb(A_BIZ_TYPE, field_options(JobFields))
def create(session: Session, /, biz_type: str, **fields: Any) -> None:
    """Create a job of BIZ_TYPE. With neither --delay nor --due-at it is due at once."""
    if fields["delay"] is not None and fields["due_at"] is not None:
        raise click.UsageError("--delay and --due-at cannot be given together")
    made = session.api.jobs.create(biz_type, **with_exact_bytes(fields))
    if not session.as_json:
        was = "Created" if made.created else "There already, by the same idempotency key:"
        session.out.note(f"{was} {made.id}, due {relative(made.due_at)}.")
    session.out.one(made, job_details(made))


@jobs.verb(
    IN_ANY_STATUS,
    job_filters,
    click.option("--body", help="A text that the body holds; needs --biz-type."),
    made_and_changed,
    limit_option(50),
    name="list",
)
def list_(session: Session, /, status: tuple[str, ...], limit: int, **filters: Any) -> None:
    """List jobs, the newest first."""
    wanted = cast("tuple[JobStatus, ...]", status)
    found = session.api.jobs.list(status=wanted, page_size=page_size(limit), **filters)
    session.out.several(found, JOB_COLUMNS, job_row, most=limit, none="No job matches.")


@jobs.verb(
    click.option("--format", "kind", type=click.Choice(get_args(ExportFormat)), default="ndjson", show_default=True),
    click.option(
        "--output", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), default="-", show_default=True
    ),
    IN_ANY_STATUS,
    job_filters,
    made_and_changed,
)
def export(session: Session, /, kind: ExportFormat, output: Path, status: tuple[str, ...], **filters: Any) -> None:
    """Write all jobs that match into a file, with their bodies. It takes a key with the scope jobs:export.

    The file has its name once it is whole. A list is read as pages; this is one answer, which the site records.
    """
    parts = session.api.jobs.export(kind, status=cast("tuple[JobStatus, ...]", status), **filters)
    if str(output) == "-":
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    unfinished = output.with_name(f"{output.name}.part")
    with unfinished.open("wb") as file:
        for part in parts:
            file.write(part)
    unfinished.replace(output)
    session.out.note(f"Written: {output}.")


@jobs.verb(A_JOB, click.option("--attempts", is_flag=True, help="Its attempts, too."))
def show(session: Session, job: JobKey, attempts: bool) -> None:
    """Show a job; of several with that business key, the newest."""
    found = session.api.jobs.read(job)
    made = list(session.api.jobs.attempts(found.id)) if attempts else None
    if made is None:
        session.out.one(found, job_details(found))
    elif session.as_json:
        session.out.json({"job": found, "attempts": made})
    else:
        session.out.one(found, job_details(found))
        session.out.note("")
        session.out.several(made, ATTEMPT_COLUMNS, attempt_row, none="No attempt has been made.")


@jobs.verb(
    A_JOB, click.option("--timeout", type=DURATION, help="How long to wait at most; without it, until it has ended.")
)
def wait(session: Session, job: JobKey, timeout: timedelta | None) -> ExitCode:
    """Wait until a job has ended, and show it.

    Exits with 0 where it succeeded, with 7 where it ended otherwise, with 8 where it has not ended in time.
    """
    seconds = None if timeout is None else timeout.total_seconds()
    with session.out.waiting("waiting for the job to end"):
        ended = session.api.jobs.wait(job, timeout_seconds=seconds)
    session.out.one(ended, job_details(ended))
    return ExitCode.OK if ended.status == "succeeded" else ExitCode.ENDED_BADLY


@jobs.command()
@A_JOB
@field_options(JobChange)
@VERSION
@click.pass_context
def change(ctx: click.Context, /, *, job: JobKey, version: int | None, **fields: Any) -> None:
    """Change what is given of a pending job, such as its time."""
    session: Session = ctx.obj
    # A body may be null, which is None as an option that was not given is.
    given = {name: value for name, value in fields.items() if ctx.get_parameter_source(name) is COMMANDLINE}
    if not given or {"delay", "due_at"} <= set(given):
        raise click.UsageError("Give what is to change, and not both of --delay and --due-at.")
    given = with_exact_bytes(given)
    _changed(session, session.api.jobs.change(job, version=version, **cast("JobChange", given)), "Changed")


@jobs.verb(A_JOB, VERSION, YES)
def cancel(session: Session, job: JobKey, version: int | None, yes: bool) -> None:
    """Cancel a pending job: once this has ended well, nothing is sent."""
    version = _asked(session, job, "Cancel", version=version, yes=yes)
    _changed(session, session.api.jobs.cancel(job, version=version), "Cancelled")


@jobs.verb(A_JOB, VERSION)
def run(session: Session, job: JobKey, version: int | None) -> None:
    """Make a pending job due at once."""
    _changed(session, session.api.jobs.run_now(job, version=version), "Due now")


@jobs.verb(A_JOB, VERSION, click.option("--lift", is_flag=True, help="Take back the resolve of its business key."))
def redrive(session: Session, job: JobKey, version: int | None, lift: bool) -> None:
    """Try a dead job again, with a new budget of attempts."""
    _changed(session, session.api.jobs.redrive(job, version=version, lift=lift or None), "Redriven")


@jobs.verb(click.argument("job_id"), VERSION, name="run-again")
def run_again(session: Session, job_id: str, version: int | None) -> None:
    """Make a new job with what one carries that has succeeded."""
    _changed(session, session.api.jobs.run_again(job_id, version=version), "Created")


@jobs.verb(click.argument("job_id"), VERSION, name="follow-up")
def follow_up(session: Session, job_id: str, version: int | None) -> None:
    """Make what was to follow from an ended job and could not be made: its last error says so."""
    _changed(session, session.api.jobs.follow_up(job_id, version=version), "Created")


@jobs.verb(
    click.argument("biz_types", type=BIZ_TYPE, nargs=-1, required=True),
    BIZ_ID,
    click.option("--outcome", default="", help="The answer, for jobs that wait for one, such as approved."),
    click.option("--body", type=BODY, help="What else it says, as JSON. @FILE reads a file, - the standard input."),
    click.option("--reason", default="", help="Why, for the audit."),
    YES,
)
def resolve(
    session: Session, /, *, biz_types: tuple[str, ...], biz_id: str, outcome: str, body: Any, reason: str, yes: bool
) -> ExitCode:
    """Call off all jobs of a business key in BIZ_TYPES: the order was paid, or the question is answered.

    Exits with 6 where nothing new fires, but the site asks to come back for what is running.
    """
    session.confirm(f"Call off all jobs of {biz_id} in {', '.join(biz_types)}?", yes=yes)
    done = session.api.jobs.resolve(biz_types, biz_id, outcome=outcome, body=body, reason=reason)
    late = " - too late, unless its attempt fails" if done.status == "running" else " - too late" * done.too_late
    rows = [
        ("Accepted", done.accepted),
        ("Cancelled", ", ".join(done.cancelled) or "none"),
        ("Running, not tried again", "not known" if done.running is None else ", ".join(done.running) or "none"),
        *([("Answered", f"{done.answered} ({done.status}){late}")] if done.answered else []),
        *([("What to do", done.detail)] if done.detail else []),
    ]
    session.out.one(done, rows)
    return ExitCode.OK if done.accepted else ExitCode.UNAVAILABLE


@jobs.verb(click.argument("biz_types", type=BIZ_TYPE, nargs=-1, required=True), BIZ_ID)
def lift(session: Session, biz_types: tuple[str, ...], biz_id: str) -> None:
    """Take the resolve of a business key back, so that its new jobs fire."""
    lifted = session.api.jobs.lift(biz_types, biz_id)
    session.out.one({"lifted": lifted}, [("Biz types in which it was resolved", lifted)])


@jobs.verb(A_JOB, VERSION, YES)
def drop(session: Session, job: JobKey, version: int | None, yes: bool) -> None:
    """Drop a dead job for good."""
    version = _asked(session, job, "Drop", version=version, yes=yes)
    _changed(session, session.api.jobs.drop(job, version=version), "Dropped")


def _asked(session: Session, job: JobKey, verb: str, *, version: int | None, yes: bool) -> int | None:
    """The version that the person was asked about, so that nothing is done to another."""
    if yes:
        return version
    seen = session.api.jobs.read(job)
    session.confirm(f"{verb} {seen.biz_type}/{seen.biz_id or seen.id} ({seen.status})?", yes=yes)
    return seen.version if version is None else version


def _changed(session: Session, job: Job, what: str) -> None:
    if not session.as_json:
        session.out.note(f"{what}: {job.id}.")
    session.out.one(job, job_details(job))
