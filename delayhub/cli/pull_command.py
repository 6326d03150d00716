"""``delayhub pull``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import click

from delayhub.cli.output import jobs_in_words
from delayhub.cli.session import Session
from delayhub.cli.site_options import BIZ_TYPE, DURATION, SiteCommand
from delayhub.client import Claim, GiveUp, Puller, TryAgain

#: Characters of what a command wrote last that its job keeps as the reason.
_TOLD = 300


@click.command(cls=SiteCommand)
@click.argument("biz_type", type=BIZ_TYPE)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--concurrency", type=click.IntRange(1, 100), default=1, show_default=True, help="Commands at once.")
@click.option("--lease", type=DURATION, default="60s", show_default=True, help="How long a claim outlives this.")
@click.option("--dead-code", type=click.IntRange(1, 255), help="An exit code that means: do not try it again.")
@click.option("--once", is_flag=True, help="End as soon as no job is due, in place of waiting for one.")
@click.pass_obj
def pull(
    session: Session,
    /,
    *,
    biz_type: str,
    command: tuple[str, ...],
    concurrency: int,
    lease: timedelta,
    dead_code: int | None,
    once: bool,
) -> None:
    """Run COMMAND for each due job of BIZ_TYPE, whose target is pull.

    The command gets the job's body on its standard input, as JSON or byte for byte, and DELAYHUB_JOB_ID,
    DELAYHUB_BIZ_TYPE, DELAYHUB_BIZ_ID, DELAYHUB_ATTEMPT and DELAYHUB_MAX_ATTEMPTS in its environment; for a body of
    exact bytes also DELAYHUB_CONTENT_TYPE. Exit code 0: the job is done. Any other: it has failed, the last line that
    the command wrote to the standard error is the reason, and the job is tried again as its biz type says. While a
    command runs, its job's lease is extended.

    Ctrl-C, or SIGTERM: no more jobs are claimed, and commands that run are waited for.

    \b
        delayhub pull report.build -- ./build-report
        delayhub pull report.build --once -- sh -c 'jq .report | xargs build'
    """

    def run(claim: Claim) -> None:
        _run(command, claim, dead_code=dead_code)

    puller = Puller(
        session.api, [biz_type], run, concurrency=concurrency, lease_seconds=max(1.0, lease.total_seconds())
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: puller.stop())
    claimed = puller.run(until_none_is_due=once)
    session.out.note(f"Claimed {jobs_in_words(claimed)}.")


def _run(command: tuple[str, ...], claim: Claim, *, dead_code: int | None) -> None:
    """Runs the command for a job. Raises TryAgain or GiveUp where it failed."""
    about = {
        "DELAYHUB_JOB_ID": claim.job_id,
        "DELAYHUB_BIZ_TYPE": claim.biz_type,
        "DELAYHUB_BIZ_ID": claim.biz_id,
        "DELAYHUB_ATTEMPT": str(claim.attempt),
        "DELAYHUB_MAX_ATTEMPTS": str(claim.max_attempts),
    }
    body = claim.raw
    if body is None:
        body = json.dumps(claim.body, ensure_ascii=False, separators=(",", ":")).encode()
    else:
        about["DELAYHUB_CONTENT_TYPE"] = claim.content_type or ""
    try:
        # A session of its own: Ctrl-C is for the puller, which waits for the command.
        ended = subprocess.run(
            command,
            input=body,
            stderr=subprocess.PIPE,
            env={**os.environ, **about},
            check=False,
            start_new_session=True,
        )
    except OSError as error:
        raise TryAgain(f"{command[0]} could not be run: {error}") from error
    told = ended.stderr.decode(errors="replace")
    if told:
        sys.stderr.write(told)
        sys.stderr.flush()
    if ended.returncode == 0:
        return
    last = next((line.strip() for line in reversed(told.splitlines()) if line.strip()), "")
    reason = f"exit code {ended.returncode}" + (f": {last[:_TOLD]}" if last else "")
    reason = reason.replace("\0", "")
    if ended.returncode == dead_code:
        raise GiveUp(reason)
    raise TryAgain(reason)
