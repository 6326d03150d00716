"""``delayhub keys …``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast, get_args

import click

from delayhub.cli.output import coloured
from delayhub.cli.session import Session
from delayhub.cli.site_options import BIZ_TYPE, DURATION, MOMENT, YES, SiteGroup
from delayhub.cli.times import relative, shown
from delayhub.client import ApiKey, ApiKeyFields, NewApiKey, Scope

COLUMNS = ("#id", "name", "owner", "begins", "scopes", "biz types", "state", "last used")
KEY = click.argument("key", type=int)
SCOPES = click.option("--scope", "scopes", type=click.Choice(get_args(Scope)), multiple=True, help="Several times.")
BIZ_TYPES = click.option("--biz-type", "biz_types", type=BIZ_TYPE, multiple=True, help="Only these; several times.")
ONCE = "This is the key. It is shown this once; keep it where other secrets are."


@click.group(cls=SiteGroup)
def keys() -> None:
    """API keys: issue, limit, rotate and revoke them. All but `own` takes a key with the scope `keys`."""


@keys.verb(
    click.option("--name", help="The key of that name."),
    click.option("--enabled/--disabled", default=None, help="Only such."),
    name="list",
)
def list_(session: Session, /, name: str | None, enabled: bool | None) -> None:
    """List the keys, the newest first."""
    session.out.several(session.api.keys.list(name=name, enabled=enabled), COLUMNS, _row, none="No key matches.")


@keys.verb()
def own(session: Session) -> None:
    """Show what the key in use may do."""
    found = session.api.keys.own()
    biz_types = "all" if found.biz_types is None else ", ".join(found.biz_types)
    session.out.one(found, [("name", found.name), ("scopes", ", ".join(found.scopes)), ("biz types", biz_types)])


@keys.verb(KEY)
def show(session: Session, key: int) -> None:
    """Show who has a key, and what it may do."""
    _show(session, session.api.keys.read(key))


@keys.verb(
    click.argument("name"),
    SCOPES,
    BIZ_TYPES,
    click.option("--owner", help="Who answers for its use."),
    click.option("--expires", type=MOMENT, help="When it ends: a time, or +90d."),
)
def create(
    session: Session,
    /,
    *,
    name: str,
    scopes: tuple[Scope, ...],
    biz_types: tuple[str, ...],
    owner: str | None,
    expires: datetime | None,
) -> None:
    """Issue a key. It may do no more than your own key, and is shown this once."""
    if not scopes:
        raise click.UsageError("Give at least one --scope: " + ", ".join(get_args(Scope)))
    made = session.api.keys.create(
        name, scopes=scopes, owner=owner or "", biz_types=biz_types or None, expires_at=expires
    )
    _show_new(session, made)


@keys.verb(
    KEY,
    click.option("--name", help="Its new name."),
    click.option("--owner", help="Who answers for its use."),
    SCOPES,
    BIZ_TYPES,
    click.option("--all-biz-types", is_flag=True, help="All biz types of its tenant."),
    click.option("--expires", type=MOMENT, help="When it ends: a time, or +90d."),
    click.option("--never-expires", is_flag=True),
    click.option("--enable/--disable", "enabled", default=None),
)
def change(session: Session, /, key: int, **given: Any) -> None:
    """Change what is given of a key; it holds from the key's next call on."""
    fields = {name: given[name] for name in ("name", "owner", "enabled") if given[name] is not None}
    fields |= {name: list(given[name]) for name in ("scopes", "biz_types") if given[name]}
    if given["all_biz_types"]:
        fields["biz_types"] = None
    if given["expires"] or given["never_expires"]:
        fields["expires_at"] = None if given["never_expires"] else given["expires"]
    if not fields:
        raise click.UsageError("What is to change? Give at least one option; --help lists them.")
    _show(session, session.api.keys.change(key, **cast("ApiKeyFields", fields)))


@keys.verb(
    KEY, click.option("--overlap", type=DURATION, help="How long the key so far stays valid beside the new one."), YES
)
def rotate(session: Session, key: int, overlap: timedelta | None, yes: bool) -> None:
    """Replace a key by a new one, which is shown this once."""
    if overlap is None:
        session.confirm(f"Replace key {key}?", yes=yes)
    _show_new(session, session.api.keys.rotate(key, overlap=overlap))


@keys.verb(KEY, YES)
def revoke(session: Session, key: int, yes: bool) -> None:
    """Delete a key; its next call is refused."""
    if not yes:
        found = session.api.keys.read(key)
        session.confirm(f"Revoke key {key}, {found.name} ({found.prefix}…)?", yes=yes)
    session.api.keys.revoke(key)
    session.out.note(f"Key {key} is revoked.")


def _row(key: ApiKey) -> Sequence[Any]:
    used = relative(key.last_used_at) if key.last_used_at else "never"
    types = "all" if key.biz_types is None else ", ".join(key.biz_types)
    return str(key.id), key.name, key.owner, f"{key.prefix}…", ", ".join(key.scopes), types, coloured(_state(key)), used


def _state(key: ApiKey) -> str:
    if not key.enabled:
        return "disabled"
    return "ok" if key.expires_at is None else f"ends {relative(key.expires_at)}"


def _show(session: Session, key: ApiKey) -> None:
    session.out.one(key, _details(key))


def _show_new(session: Session, key: NewApiKey) -> None:
    if not session.as_json:
        session.out.note(ONCE)
    session.out.one(key, [("key", key.key), *_details(key)])


def _details(key: ApiKey) -> list[tuple[str, Any]]:
    last = f"{shown(key.last_used_at)}, from {key.last_used_from}" if key.last_used_at else "never"
    details: list[tuple[str, Any]] = [
        ("id", str(key.id)),
        ("name", key.name),
        ("owner", key.owner),
        ("begins", f"{key.prefix}…"),
        ("scopes", ", ".join(key.scopes)),
        ("biz types", "all" if key.biz_types is None else ", ".join(key.biz_types)),
        ("state", coloured(_state(key))),
        ("expires", shown(key.expires_at) if key.expires_at else "never"),
        ("last used", last),
        ("created", shown(key.created_at)),
    ]
    if key.previous_until:
        details.append(("replaced key", f"{key.previous_prefix}…, valid until {shown(key.previous_until)}"))
    return details
