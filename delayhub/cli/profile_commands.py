"""``delayhub profiles …``."""

from __future__ import annotations

import sys

import click

from delayhub.cli.profiles import Profile, config_file, load, save
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand
from delayhub.client import Client
from delayhub.client.options import ClientOptions


@click.group()
def profiles() -> None:
    """Sites and their keys, for this user: one profile for each site, one of them in use.

    They are kept in ~/.config/delayhub/config.toml, or where DELAYHUB_CONFIG says, readable for this user only.
    """


@profiles.command()
@click.argument("name")
@click.option("--url", required=True, help="The site's address, such as https://delay.example.")
@click.option("--no-check", is_flag=True, help="Do not ask the site whether it takes the key.")
@click.pass_obj
def add(session: Session, name: str, url: str, no_check: bool) -> None:
    """Add a site under NAME, or change it. The API key is asked for, or read from the standard input."""
    at_terminal = sys.stdin.isatty()
    key = click.prompt("API key", hide_input=True, err=True) if at_terminal else sys.stdin.readline()
    options = ClientOptions(url, api_key=key.strip())
    if not no_check:
        with Client(url, api_key=key.strip(), retries=0) as api:
            api.biz_types.list()
    path = config_file()
    known = load(path).with_profile(name, Profile(url, options.api_key or ""))
    save(known, path)
    session.out.note(f"Saved {name} in {path}{', which is in use' if known.in_use == name else ''}.")


@profiles.command(name="list", cls=SiteCommand)
@click.pass_obj
def list_(session: Session) -> None:
    """List the profiles; keys are not shown."""
    known = load(config_file())
    rows = [{"name": name, "url": found.url, "in_use": name == known.in_use} for name, found in known.named.items()]
    session.out.several(
        rows,
        ("name", "url", "in use"),
        lambda row: (row["name"], row["url"], "yes" if row["in_use"] else ""),
        none="There is no profile. Add one: delayhub profiles add NAME --url https://…",
    )


@profiles.command()
@click.argument("name")
@click.pass_obj
def use(session: Session, name: str) -> None:
    """Use that site where no other is named."""
    path = config_file()
    save(load(path).using(name), path)
    session.out.note(f"{name} is in use.")


@profiles.command()
@click.argument("name")
@click.pass_obj
def remove(session: Session, name: str) -> None:
    """Forget a site and its key."""
    path = config_file()
    save(load(path).without(name), path)
    session.out.note(f"{name} is forgotten; the key itself is still valid.")
