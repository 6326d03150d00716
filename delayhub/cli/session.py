"""One run of the command line: which site it asks, with which key, and how it shows what comes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import click
import httpx

from delayhub.cli import profiles
from delayhub.cli.output import Output
from delayhub.client import Client, NotConfigured
from delayhub.client.options import KEY_VARIABLE, URL_VARIABLE

HOW_TO = f"set {URL_VARIABLE} and {KEY_VARIABLE}, or add a profile: delayhub profiles add NAME --url https://…"


@dataclass
class Session:
    """What the options say that every command has.

    Args:
        profile: the name of a profile.
        url: a site's address, in place of the profile's or the environment's.
        as_json: whether results are JSON.
        transport: makes what takes requests to the site; None for the network.
    """

    profile: str | None = None
    url: str | None = None
    as_json: bool = False
    transport: Callable[[], httpx.BaseTransport] | None = None

    @property
    def out(self) -> Output:
        """Shows results and notes."""
        return Output(as_json=self.as_json)

    @cached_property
    def api(self) -> Client:
        """A client of the site, until the command ends. Raises NotConfigured, ProfileError or OptionError."""
        url, key = self.site_and_key()
        client = Client(url, api_key=key, transport=self.transport()) if self.transport else Client(url, api_key=key)
        return click.get_current_context().with_resource(client)

    def site_and_key(self) -> tuple[str, str]:
        """The site's address and the key. Raises NotConfigured or ProfileError.

        A profile that is named comes first, then the environment, then the profile in use. A key of a profile goes to
        no other address, unless both are named.
        """
        url, key = self._found()
        if not key:
            raise NotConfigured(f"no API key for {url}: set {KEY_VARIABLE}, or name a profile by --profile")
        return url, key

    def site(self) -> str:
        """The site's address, for what is given the keys of others. Raises NotConfigured or ProfileError."""
        return self._found()[0]

    def _found(self) -> tuple[str, str]:
        url, key = os.environ.get(URL_VARIABLE, ""), os.environ.get(KEY_VARIABLE, "")
        if self.profile is not None:
            chosen = self._profile(self.profile)
            url, key = chosen.url, chosen.api_key
        elif not (url or key or self.url):
            chosen = self._profile(None)
            url, key = chosen.url, chosen.api_key
        url = self.url or url
        if not url:
            raise NotConfigured(f"{KEY_VARIABLE} is set, but not {URL_VARIABLE}")
        return url, key

    def _profile(self, name: str | None) -> profiles.Profile:
        """The profile of that name, or the one in use. Raises NotConfigured or ProfileError."""
        path = profiles.config_file()
        known = profiles.load(path)
        if name is None and known.in_use is None:
            raise NotConfigured(f"which site? {HOW_TO}")
        if profiles.others_can_read(path):
            self.out.note(f"Other users of this machine can read the keys in {path}: chmod 600 {path}")
        return known.find(name or known.in_use or "")

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks before what cannot be taken back; does nothing where ``yes`` is given. Raises Abort or UsageError."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise click.UsageError(f"{question} Add --yes, since no person can be asked here.")
        click.confirm(question, abort=True, err=True)
