"""``delayhub``: its groups of commands, each imported when it is needed, and what becomes of the one that is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import click
import httpx
from click.shell_completion import get_completion_class

from delayhub.cli import profiles
from delayhub.cli.exit_codes import ExitCode, exit_code_of
from delayhub.cli.output import Output
from delayhub.cli.profiles import ProfileError
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand, SiteGroup
from delayhub.client import ApiError, Problem, Unauthorized
from delayhub.errors import DelayHubError, OptionError
from delayhub.extras import not_installed

#: The commands and groups, where they are, and their short help: with it, ``--help`` imports none of them.
HOMES: dict[str, tuple[str, str]] = {
    "jobs": ("delayhub.cli.job_commands:jobs", "create, find, change and wait for jobs"),
    "pull": ("delayhub.cli.pull_command:pull", "run a command for each due job of a biz type that is pulled"),
    "series": ("delayhub.cli.series_commands:series", "jobs that repeat: make, pause, trigger, backfill"),
    "biz-types": ("delayhub.cli.biz_type_commands:biz_types", "the kinds of jobs"),
    "flow-keys": ("delayhub.cli.flow_key_commands:flow_keys", "whose jobs wait in a biz type; pause one of them"),
    "keys": ("delayhub.cli.key_commands:keys", "API keys: issue, limit, rotate, revoke"),
    "operations": ("delayhub.cli.operation_commands:operations", "one verb for many jobs: plan, start, follow, stop"),
    "stats": ("delayhub.cli.stats_commands:stats", "how many jobs wait, run and are dead; whether jobs are delivered"),
    "watch": ("delayhub.cli.stats_commands:watch", "the same, again and again"),
    "issues": ("delayhub.cli.stats_commands:issues", "the dead jobs, grouped by what happened"),
    "audit": ("delayhub.cli.stats_commands:audit", "who did what"),
    "mcp": ("delayhub.cli.mcp_command:mcp_command", "let agents use a site, as far as a key allows"),
    "profiles": ("delayhub.cli.profile_commands:profiles", "sites and their keys, for this user"),
    "completion": ("delayhub.cli.main:completion", "completion of commands for your shell"),
    "up": ("delayhub.cli.local_commands:up_command", "start a whole site on this machine, until Ctrl-C"),
    "demo": ("delayhub.cli.local_commands:demo_command", "start a site, create jobs on it, and watch them fire"),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when one of them is asked for: completion at each tab must be quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in HOMES:
            return None
        module, _, name = HOMES[cmd_name][0].partition(":")
        try:
            command: click.Command = getattr(import_module(module), name)
        except ModuleNotFoundError as error:  # `up` and `demo` start what the other commands only talk to
            raise not_installed(error, extra="standalone") from None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, for ``--help``."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in HOMES.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--all", is_flag=True, expose_value=False, help="Ask the site of each profile; only what reads.")
@click.version_option(package_name="delayhub", message="delayhub %(version)s")
@click.pass_context
def delayhub(ctx: click.Context) -> None:
    """Jobs that are due at a set time: create them, look at them, act on them.

    Which site: set DELAYHUB_URL and DELAYHUB_API_KEY, or save both as a profile:

    \b
        delayhub profiles add work --url https://delay.example
        delayhub jobs create order.close --biz-id order-42 --delay 30m
        delayhub jobs show order.close/order-42

    `delayhub --all COMMAND` asks the site of each profile, where the command only reads.

    Every command takes --json, --profile NAME and --url URL. Results go to the standard output, everything else to the
    standard error. `delayhub COMMAND --help` says more.
    """
    ctx.ensure_object(Session)


_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Write the script that completes commands, options, profiles and biz types in SHELL.

    \b
        bash:  eval "$(delayhub completion bash)"      in ~/.bashrc
        zsh:   eval "$(delayhub completion zsh)"       in ~/.zshrc, after compinit
        fish:  delayhub completion fish > ~/.config/fish/completions/delayhub.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "delayhub", "_DELAYHUB_COMPLETE").source())


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
    except BrokenPipeError:
        # The reader of the results, such as `head`, has enough. Python's flush at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except (DelayHubError, OSError) as error:  # the latter: a file cannot be read or written
        sys.stderr.write(f"Error: {error}\n")
        return ExitCode.FAILED
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\nStopped.\n")
        return ExitCode.INTERRUPTED


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
