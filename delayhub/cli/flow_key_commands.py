"""``delayhub flow-keys …``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from delayhub.cli.output import coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import A_BIZ_TYPE, REASON, UNTIL, WHY_PAUSED, SiteGroup
from delayhub.cli.times import now, shown
from delayhub.client import FlowKey, PausedFlowKey

A_FLOW_KEY = click.argument("flow_key")
COLUMNS = ("flow key", "#waiting", "#due", "#in flight", "state")


@click.group(name="flow-keys", cls=SiteGroup)
def flow_keys() -> None:
    """The flow keys of a biz type: whose jobs wait, and which are paused."""


@flow_keys.verb(
    A_BIZ_TYPE,
    click.option("--flow-key", help="Only this one; without it, those with most jobs that wait."),
    name="list",
)
def list_(session: Session, biz_type: str, flow_key: str | None) -> None:
    """List the flow keys of BIZ_TYPE that have most jobs."""
    found = session.api.biz_types.flow_keys(biz_type, flow_key=flow_key)
    if session.as_json:
        session.out.json(found)
        return
    session.out.several(found.flow_keys, COLUMNS, _row, none="No job with a flow key waits.")
    if not found.is_whole:
        session.out.note("Not all keys were counted: name one by --flow-key.")
    if found.paused:
        session.out.note(f"Paused: {', '.join(found.paused)}")
    if found.blocked:
        session.out.note(f"Blocked: {', '.join(found.blocked)}")


@flow_keys.verb(A_BIZ_TYPE, A_FLOW_KEY, WHY_PAUSED, UNTIL)
def pause(session: Session, biz_type: str, flow_key: str, reason: str, until: datetime | None) -> None:
    """Hold the jobs of one flow key; those of others go on."""
    _changed(session, session.api.biz_types.pause_flow_key(biz_type, flow_key, reason=reason, until=until))


@flow_keys.verb(A_BIZ_TYPE, A_FLOW_KEY, REASON)
def resume(session: Session, biz_type: str, flow_key: str, reason: str) -> None:
    """Let the jobs of a flow key run again."""
    _changed(session, session.api.biz_types.resume_flow_key(biz_type, flow_key, reason=reason or None))


def _row(each: FlowKey) -> Sequence[Any]:
    return each.flow_key, each.waiting, each.due, each.in_flight, coloured(_state(each.paused_until, each.blocked_by))


def _changed(session: Session, done: PausedFlowKey) -> None:
    session.out.one(done, [("flow key", done.flow_key), ("state", coloured(_state(done.paused_until)))])


def _state(paused_until: datetime | None, blocked_by: str | None = None) -> str:
    if paused_until is None or paused_until <= now():
        return "ok" if blocked_by is None else f"waits for {blocked_by}"
    return "paused" if paused_until.year >= FOREVER else f"paused until {shown(paused_until)}"


#: The year from which on a pause has no end that a person chose.
FOREVER = 9000
