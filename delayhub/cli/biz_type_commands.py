"""``delayhub biz-types …``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_type_hints

import click

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.job_input import BODY
from delayhub.cli.output import coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import BIZ_TYPE, DURATION, REASON, UNTIL, WHY_PAUSED, YES, SiteGroup
from delayhub.cli.times import now, shown
from delayhub.client import BizType, BizTypeFields, BizTypeImport, CreatedBizType, KeyPairs

COLUMNS = ("code", "name", "target", "#attempts", "guarantee", "state")
CODE = click.argument("code", type=BIZ_TYPE)
SETTING = click.option(
    "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Several times; VALUE is JSON or text."
)


@click.group(name="biz-types", cls=SiteGroup)
def biz_types() -> None:
    """The kinds of jobs: where they go, how often they are tried, how fast.

    \b
        delayhub biz-types create order.close --set url=https://shop.example/hooks --set max_attempts=5
        delayhub biz-types export > biz-types.json      keep it in Git, and later:
        delayhub biz-types import biz-types.json --dry-run
    """


@biz_types.verb(name="list")
def list_(session: Session) -> None:
    """List biz types, by code."""
    session.out.several(session.api.biz_types.list(), COLUMNS, _row, none="There is no biz type.")


@biz_types.verb(CODE)
def show(session: Session, code: str) -> None:
    """Show a biz type."""
    _show(session, session.api.biz_types.read(code))


@biz_types.verb(click.argument("code"), SETTING)
def create(session: Session, code: str, settings: tuple[str, ...]) -> None:
    """Make a biz type. The secret that its callbacks are signed with is shown this once."""
    made = session.api.biz_types.create(code, **_fields(settings))
    _show(session, made)


@biz_types.verb(CODE, SETTING)
def change(session: Session, code: str, settings: tuple[str, ...]) -> None:
    """Change fields of a biz type; workers use them within a second."""
    given = _fields(settings)
    if not given:
        raise click.UsageError("What is to change? --set FIELD=VALUE, such as --set max_attempts=5")
    _show(session, session.api.biz_types.change(code, **given))


@biz_types.verb(CODE, click.argument("new_code"), YES)
def rename(session: Session, code: str, new_code: str, yes: bool) -> None:
    """Give a biz type another code. Callers have to use that one from then on."""
    session.confirm(f"Rename {code} to {new_code}?", yes=yes)
    _show(session, session.api.biz_types.change(code, new_code=new_code))


@biz_types.verb(CODE, YES)
def delete(session: Session, code: str, yes: bool) -> None:
    """Delete a biz type that has no jobs."""
    session.confirm(f"Delete {code}?", yes=yes)
    session.api.biz_types.delete(code)
    session.out.note(f"{code} is deleted.")


@biz_types.verb(CODE, WHY_PAUSED, UNTIL)
def pause(session: Session, code: str, reason: str, until: datetime | None) -> None:
    """Hold the jobs of a biz type. New ones are still taken, and wait."""
    _show(session, session.api.biz_types.pause(code, reason=reason, until=until))


@biz_types.verb(CODE, REASON)
def resume(session: Session, code: str, reason: str) -> None:
    """Let the jobs of a biz type run again, slowly at first."""
    _show(session, session.api.biz_types.resume(code, reason=reason or None))


@biz_types.verb(
    CODE,
    click.option("--overlap", type=DURATION, help="How long callbacks have both signatures."),
    YES,
    name="rotate-secret",
)
def rotate_secret(session: Session, code: str, overlap: timedelta | None, yes: bool) -> None:
    """Sign callbacks with a new secret, which is shown this once."""
    session.confirm(f"Make a new signing secret for {code}?", yes=yes)
    made = session.api.biz_types.rotate_secret(code, overlap=overlap)
    rows = [("signing secret", made.signing_secret), ("the one before until", shown(made.previous_secret_until))]
    session.out.one(made, rows)


@biz_types.verb(
    CODE, click.option("--body", type=BODY, help="JSON for the receiver; @FILE reads a file, - the standard input.")
)
def test(session: Session, code: str, body: Any) -> ExitCode:
    """Send one callback to the receiver now, and show its answer. It makes no job.

    Exits with 0 where a job would succeed, with 7 where not.
    """
    with session.out.waiting("waiting for the receiver"):
        done = session.api.biz_types.test(code, body=body)
    answer = "none" if done.response is None else f"{done.response.status_code} {done.response.body[:500]}"
    session.out.one(
        done,
        [
            ("a job", coloured(done.verdict)),
            ("because", done.reason),
            ("sent", done.request.line if done.request else None),
            ("answer", answer),
            ("took ms", done.duration_ms),
        ],
    )
    return ExitCode.OK if done.verdict == "succeeds" else ExitCode.ENDED_BADLY


@biz_types.verb()
def export(session: Session) -> None:
    """Write all biz types as one JSON document, without pauses and secrets."""
    session.out.json(session.api.biz_types.export())


@biz_types.verb(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)),
    click.option("--dry-run", is_flag=True, help="Show the differences, and change nothing."),
    YES,
    name="import",
)
def import_(session: Session, file: Path, dry_run: bool, yes: bool) -> None:
    """Make what is missing and change what differs, by a document of `export`. Others stay as they are."""
    try:
        document = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.UsageError(f"{file} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise click.UsageError(f"{file} is no JSON object.")
    if not (dry_run or yes):
        planned = session.api.biz_types.import_document(document, dry_run=True)
        if not _report(session, planned):
            return
        session.confirm("Do that?", yes=yes)
    done = session.api.biz_types.import_document(document, dry_run=dry_run)
    if session.as_json:
        session.out.json(done)
    elif dry_run or yes:
        _report(session, done)
    else:
        session.out.note("Done.")


@click.group(name="key-pairs", cls=SiteGroup)
def key_pairs() -> None:
    """Keys by which callbacks are signed (v1a) beside the signing secret: receivers check with the public half."""


biz_types.add_command(key_pairs)


@key_pairs.verb(CODE, name="list")
def list_key_pairs(session: Session, code: str) -> None:
    """List the public keys by which a receiver checks callbacks."""
    _show_key_pairs(session, session.api.biz_types.key_pairs(code))


@key_pairs.verb(
    CODE, click.option("--overlap", type=DURATION, help="How long callbacks have both keys' signatures."), YES
)
def make(session: Session, code: str, overlap: timedelta | None, yes: bool) -> None:
    """Sign callbacks by a new key, too. Its private half stays on the site."""
    session.confirm(f"Make a new key pair for {code}?", yes=yes)
    _show_key_pairs(session, session.api.biz_types.make_key_pair(code, overlap=overlap))


@key_pairs.verb(CODE, YES, name="end-rotation")
def end_rotation(session: Session, code: str, yes: bool) -> None:
    """Sign callbacks by the present key only, from now on."""
    session.confirm(f"End the previous key of {code}?", yes=yes)
    _show_key_pairs(session, session.api.biz_types.end_key_rotation(code))


@key_pairs.verb(CODE, YES)
def retire(session: Session, code: str, yes: bool) -> None:
    """Sign callbacks by no key any more; the signing secret goes on."""
    session.confirm(f"Retire the keys of {code}? Receivers that check them refuse its callbacks.", yes=yes)
    _show_key_pairs(session, session.api.biz_types.retire_key_pairs(code))


def _fields(settings: Sequence[str]) -> BizTypeFields:
    """The fields that ``--set`` names. A value is JSON, or text where the field is one. Raises UsageError."""
    known = get_type_hints(BizTypeFields)
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in known:
            raise click.UsageError(f"--set takes FIELD=VALUE, got {setting!r}. Fields: {', '.join(sorted(known))}")
        given[name] = text if known[name] is str else _value(text)
    return cast("BizTypeFields", given)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _state(biz_type: BizType) -> str:
    if not biz_type.enabled:
        return "disabled"
    until = biz_type.paused_until
    return f"paused: {biz_type.pause_reason}" if until and until > now() else "ok"


def _row(biz_type: BizType) -> Sequence[Any]:
    guarantee = biz_type.guarantee.replace("_", " ")
    state = coloured(_state(biz_type))
    return biz_type.code, biz_type.name, biz_type.target, biz_type.max_attempts, guarantee, state


def _show(session: Session, biz_type: BizType) -> None:
    rows: list[tuple[str, Any]] = [("code", biz_type.code), ("state", coloured(_state(biz_type)))]
    if isinstance(biz_type, CreatedBizType):
        rows.insert(0, ("signing secret", biz_type.signing_secret))
    shown_already = {"code", "signing_secret", "etag"}
    for field in fields(biz_type):
        value = getattr(biz_type, field.name)
        if field.name not in shown_already and value not in (None, "", [], {}):
            if isinstance(value, datetime):
                value = shown(value)
            elif isinstance(value, list | dict):
                value = json.dumps(value, ensure_ascii=False)
            rows.append((field.name, value))
    session.out.one(biz_type, rows)


def _report(session: Session, done: BizTypeImport) -> int:
    """Shows what an import changes; gives how many biz types that are."""
    changed = [change for change in done.changes if change.action != "none"]
    if session.as_json:
        return len(changed)
    for change in changed:
        session.out.note(f"{change.action} {change.code}")
        for name, after in sorted(change.after.items()):
            before = f"{json.dumps(change.before[name])} -> " if name in change.before else ""
            session.out.note(f"  {name}: {before}{json.dumps(after)}")
    if not changed:
        session.out.note("Nothing differs.")
    if done.left_alone:
        session.out.note(f"Not in the document, and left as they are: {', '.join(done.left_alone)}")
    return len(changed)


def _show_key_pairs(session: Session, found: KeyPairs) -> None:
    names = ("public key", "the one before")
    rows = [*zip(names, found.public_keys, strict=False), ("the one before until", shown(found.previous_key_until))]
    session.out.one(found, rows if found.public_keys else [("public key", "none: no key signs")])
