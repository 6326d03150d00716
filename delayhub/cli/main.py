"""Runs a command: its exit code, and a sentence in place of a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import click
import httpx

from delayhub.cli import profiles
from delayhub.cli.commands import delayhub
from delayhub.cli.exit_codes import ExitCode, exit_code_of
from delayhub.cli.output import Output
from delayhub.cli.profiles import ProfileError
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand, SiteGroup
from delayhub.client import ApiError, Problem, Unauthorized
from delayhub.errors import DelayHubError, OptionError

OPTION = "--all"
_READS = frozenset({"GET", "HEAD"})


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] != [OPTION]:
        return _run(lambda: _asked(words, Session()))
    return _run(lambda: of_every_site(words[1:], run=lambda each, session: _run(lambda: _asked(each, session))))


def _asked(words: Sequence[str], session: Session) -> int | None:
    given = delayhub.main(words, prog_name="delayhub", standalone_mode=False, obj=session)
    sys.stdout.flush()
    return given if isinstance(given, int) else None


def _run(command: Callable[[], int | None]) -> int:
    """The exit code; what went wrong is told in a sentence."""
    try:
        return command() or ExitCode.OK
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ApiError as error:
        sys.stderr.write(sentence(error) + "\n")
        return exit_code_of(error)
    except DelayHubError as error:
        sys.stderr.write(f"Error: {error}\n")
        return ExitCode.FAILED
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\nStopped.\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of the results, such as `head`, has enough. Python's flush at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK


def sentence(error: ApiError) -> str:
    """What a person reads of an error of the client."""
    if not isinstance(error, Problem):
        return f"Error: {error}"
    lines = [f"Error: {error.detail}"]
    # The detail is that of the first fault.
    lines += [f"  {fault.field}: {fault.message}" for fault in error.errors if fault.field and len(error.errors) > 1]
    if isinstance(error, Unauthorized):
        lines.append("  The key is that of DELAYHUB_API_KEY, or of the profile in use: delayhub profiles list")
    if error.retry_after is not None:
        lines.append(f"  The site asks to come back in {error.retry_after:g} s.")
    if error.request_id and error.status >= 500:
        lines.append(f"  The site's log names this request {error.request_id}.")
    return "\n".join(lines)


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
