"""``delayhub``: the groups of commands, each in a module of its own that is imported when it is needed."""

from __future__ import annotations

from importlib import import_module

import click
from click.shell_completion import get_completion_class

from delayhub.cli.session import Session
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
    "forecast": ("delayhub.cli.stats_commands:forecast", "when waiting jobs are done, and what comes"),
    "audit": ("delayhub.cli.stats_commands:audit", "who did what"),
    "mcp": ("delayhub.cli.mcp_command:mcp_command", "let agents use a site, as far as a key allows"),
    "profiles": ("delayhub.cli.profile_commands:profiles", "sites and their keys, for this user"),
    "completion": ("delayhub.cli.commands:completion", "completion of commands for your shell"),
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
