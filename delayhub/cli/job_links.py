"""``delayhub jobs link``, ``links`` and ``withdraw-link``: addresses by which people answer a job that waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from delayhub.cli.session import Session
from delayhub.cli.site_options import JOB, MOMENT, SiteCommand
from delayhub.cli.times import relative
from delayhub.client import AnswerLink, JobKey

COLUMNS = ("#id", "given to", "answers", "state", "by")
ONCE = "This is the link. It is shown this once, and whoever has it may answer, once."


@click.command(name="link", cls=SiteCommand)
@click.argument("job", type=JOB)
@click.option("--given-to", required=True, help="Who gets it, for the record: a name or an address.")
@click.option("--outcome", "outcomes", multiple=True, required=True, help="What may be answered; several times.")
@click.option("--question", default="", help="What its page asks.")
@click.option("--expires", type=MOMENT, help="When it ends, such as +2h. Without it, and at most: when the job is due.")
@click.pass_obj
def make_link(
    session: Session,
    /,
    *,
    job: JobKey,
    given_to: str,
    outcomes: tuple[str, ...],
    question: str,
    expires: datetime | None,
) -> None:
    """Make a link by which a person answers JOB, which waits for an answer. It takes a key with the scope jobs:link."""
    made = session.api.jobs.make_link(
        _id(session, job), given_to=given_to, outcomes=outcomes, question=question, expires_at=expires
    )
    if not session.as_json:
        session.out.note(ONCE)
    session.out.one(made, [("link", made.url), ("id", str(made.id)), ("ends", relative(made.expires_at))])


@click.command(name="links", cls=SiteCommand)
@click.argument("job", type=JOB)
@click.pass_obj
def links(session: Session, job: JobKey) -> None:
    """List the answer links of JOB, the newest first, without their addresses."""
    session.out.several(session.api.jobs.links(_id(session, job)), COLUMNS, _row, none="It has no links.")


@click.command(name="withdraw-link", cls=SiteCommand)
@click.argument("job", type=JOB)
@click.argument("link", type=int)
@click.pass_obj
def withdraw_link(session: Session, job: JobKey, link: int) -> None:
    """End an answer LINK of JOB that was not used: nobody answers by it any more."""
    session.api.jobs.withdraw_link(_id(session, job), link)
    session.out.note(f"Link {link} is withdrawn.")


def _id(session: Session, job: JobKey) -> str:
    return str(job) if not isinstance(job, tuple) else session.api.jobs.read(job).id


def _row(link: AnswerLink) -> Sequence[Any]:
    state = f"used {relative(link.used_at)}" if link.used_at else f"ends {relative(link.expires_at)}"
    return str(link.id), link.given_to, ", ".join(link.outcomes), state, link.created_by
