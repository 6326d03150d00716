"""``--all``: a command that only reads, asked of the site of each profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
import httpx

from delayhub.cli import profiles
from delayhub.cli.commands import delayhub
from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.output import Output
from delayhub.cli.profiles import ProfileError
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand, SiteGroup
from delayhub.errors import OptionError

OPTION = "--all"
_READS = frozenset({"GET", "HEAD"})


class ReadsOnly(httpx.HTTPTransport):
    """A network that takes nothing to a site that would change it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer. Raises OptionError where the request is no read."""
        if request.method not in _READS:
            raise OptionError(f"{OPTION} is for commands that only read; name one site by --profile for this one")
        return super().handle_request(request)


def of_every_site(words: Sequence[str], *, run: Callable[[Sequence[str], Session], int]) -> int:
    """The exit code of the command, asked of each site in turn: what was found in one counts as found.

    Args:
        words: the command.
        run: runs it with a session, and gives its exit code.

    Raises ProfileError where there is no profile, UsageError where the command asks no site, or names one by itself.
    """
    known = profiles.load(profiles.config_file()).named
    if not known:
        raise ProfileError(f"{OPTION} asks the site of each profile, and there is none: delayhub profiles add NAME")
    command = delayhub.get_command(click.Context(delayhub), words[0]) if words else None
    if not isinstance(command, (SiteCommand, SiteGroup)):
        raise click.UsageError(f"{OPTION} is for commands that ask a site, such as: delayhub {OPTION} jobs list")
    if {word.partition("=")[0] for word in words} & {"--profile", "--url"}:
        raise click.UsageError(f"{OPTION} names all sites: leave --profile and --url out")
    codes = set()
    for name in sorted(known):
        Output(as_json=False).note(f"{name} ({known[name].url}):")
        codes.add(run(words, Session(profile=name, transport=ReadsOnly)))
    worst = max(codes - {ExitCode.OK, ExitCode.NOT_FOUND}, default=ExitCode.OK)
    return ExitCode.NOT_FOUND if codes == {ExitCode.NOT_FOUND} else worst
