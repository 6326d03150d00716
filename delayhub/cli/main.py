"""Runs a command: its exit code, and a sentence in place of a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import click

from delayhub.cli.commands import delayhub
from delayhub.cli.every_site import OPTION, of_every_site
from delayhub.cli.exit_codes import ExitCode, exit_code_of
from delayhub.cli.session import Session
from delayhub.client import ApiError, Problem, Unauthorized
from delayhub.errors import DelayHubError


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
