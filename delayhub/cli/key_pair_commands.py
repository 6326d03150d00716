"""``delayhub biz-types key-pairs …``: the keys by which callbacks are signed beside the secret."""

from __future__ import annotations

from datetime import timedelta

import click

from delayhub.cli.biz_type_names import BIZ_TYPE
from delayhub.cli.session import Session
from delayhub.cli.site_options import DURATION, YES, SiteGroup
from delayhub.cli.times import shown
from delayhub.client import KeyPairs


@click.group(name="key-pairs", cls=SiteGroup)
def key_pairs() -> None:
    """Keys by which callbacks are signed (v1a) beside the signing secret: receivers check with the public half."""


@key_pairs.command(name="list")
@click.argument("code", type=BIZ_TYPE)
@click.pass_obj
def list_(session: Session, code: str) -> None:
    """List the public keys by which a receiver checks callbacks."""
    with session.client() as api:
        _show(session, api.biz_types.key_pairs(code))


@key_pairs.command()
@click.argument("code", type=BIZ_TYPE)
@click.option("--overlap", type=DURATION, help="How long callbacks have both keys' signatures.")
@YES
@click.pass_obj
def make(session: Session, code: str, overlap: timedelta | None, yes: bool) -> None:
    """Sign callbacks by a new key, too. Its private half stays on the site."""
    session.confirm(f"Make a new key pair for {code}?", yes=yes)
    with session.client() as api:
        _show(session, api.biz_types.make_key_pair(code, overlap=overlap))


@key_pairs.command(name="end-rotation")
@click.argument("code", type=BIZ_TYPE)
@YES
@click.pass_obj
def end_rotation(session: Session, code: str, yes: bool) -> None:
    """Sign callbacks by the present key only, from now on."""
    session.confirm(f"End the previous key of {code}?", yes=yes)
    with session.client() as api:
        _show(session, api.biz_types.end_key_rotation(code))


@key_pairs.command()
@click.argument("code", type=BIZ_TYPE)
@YES
@click.pass_obj
def retire(session: Session, code: str, yes: bool) -> None:
    """Sign callbacks by no key any more; the signing secret goes on."""
    session.confirm(f"Retire the keys of {code}? Receivers that check them refuse its callbacks.", yes=yes)
    with session.client() as api:
        _show(session, api.biz_types.retire_key_pairs(code))


def _show(session: Session, found: KeyPairs) -> None:
    names = ("public key", "the one before")
    rows = [*zip(names, found.public_keys, strict=False), ("the one before until", shown(found.previous_key_until))]
    session.out.one(found, rows if found.public_keys else [("public key", "none: no key signs")])
