"""The options that every command has which asks a site, and those that several have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from delayhub.cli import profiles
from delayhub.cli.session import Session
from delayhub.cli.times import duration, moment
from delayhub.client import Client
from delayhub.errors import DelayHubError, OptionError

#: A person has pressed the tab key, and waits.
PATIENCE_SECONDS = 2.0


class SiteCommand(click.Command):
    """A command with ``--json``, ``--profile`` and ``--url``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(["--json", "as_json"], is_flag=True, expose_value=False, callback=_keep, help="Show JSON."),
            click.Option(
                ["--profile"],
                expose_value=False,
                callback=_keep,
                shell_complete=_profile_names,
                help="The site of that profile; see: delayhub profiles.",
            ),
            click.Option(["--url"], expose_value=False, callback=_keep, help="The site's address. [env: DELAYHUB_URL]"),
        ]


class SiteGroup(click.Group):
    """A group of such commands."""

    command_class = SiteCommand

    def verb(self, *parameters: Callable[[Any], Any], name: str | None = None) -> Callable[[Any], click.Command]:
        """Makes a command of a function that gets the session: with those arguments and options, in their order."""

        def decorate(do: Any) -> click.Command:
            return self.command(name)(options(*parameters)(click.pass_obj(do)))

        return decorate


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A value that one of our functions reads."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value. Ends the command with a sentence where it cannot be one."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except OptionError as error:
            self.fail(str(error), param, ctx)

    def parse(self, text: str) -> Any:
        """The value of a text. Raises OptionError."""
        raise NotImplementedError


class Duration(Parsed):
    """A duration such as ``30m``."""

    name = "duration"

    def parse(self, text: str) -> Any:
        """The timedelta. Raises OptionError."""
        return duration(text)


class Moment(Parsed):
    """A time such as ``2027-01-31T09:00`` or ``-2h``."""

    name = "time"

    def parse(self, text: str) -> Any:
        """The datetime. Raises OptionError."""
        return moment(text)


class JobName(Parsed):
    """A job's id, or its biz type and biz id: ``order.close/order-42``."""

    name = "job"

    def parse(self, text: str) -> Any:
        """What the client takes for a job. Raises OptionError."""
        biz_type, slash, biz_id = text.partition("/")
        if not slash:
            return text
        if not (biz_type and biz_id):
            raise OptionError(f"a job is named by its id, or as BIZ_TYPE/BIZ_ID, got {text!r}")
        return biz_type, biz_id


class BizTypeCode(Parsed):
    """The code of a biz type."""

    name = "biz type"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The codes that begin so; none where the site cannot be asked quickly."""
        del param
        try:
            url, key = ctx.ensure_object(Session).site_and_key()
            with Client(url, api_key=key, timeout_seconds=PATIENCE_SECONDS, retries=0) as api:
                known = api.biz_types.list()
        except DelayHubError:
            return []
        return [CompletionItem(found.code, help=found.name) for found in known if found.code.startswith(incomplete)]

    def parse(self, text: str) -> Any:
        """The code as it was given; the site knows whether there is one."""
        return text


DURATION, MOMENT, JOB, BIZ_TYPE = Duration(), Moment(), JobName(), BizTypeCode()
A_BIZ_TYPE = click.argument("biz_type", type=BIZ_TYPE)
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
REASON = click.option("--reason", default="", help="Why; it is kept.")
WHY_PAUSED = click.option("--reason", required=True, help="All read it who ask why a job waits.")
UNTIL = click.option("--until", type=MOMENT, help="When it ends: a time, or +2h. Without it: until it is resumed.")
Command = TypeVar("Command", bound=Callable[..., Any])


def options(*each: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(each):
            command = option(command)
        return command

    return decorate


#: The options of every command that is about jobs for which all holds that is given.
job_filters = options(
    click.option("--biz-type", type=BIZ_TYPE),
    click.option("--biz-id", help="Whole, or its beginning and *."),
    click.option("--flow-key", help="Whole."),
    click.option("--error-class", help="Such as http.503 or timeout."),
    click.option("--due-from", type=MOMENT, help="A time, or +2h (from now), or -2h (ago)."),
    click.option("--due-until", type=MOMENT),
    click.option("--ended-from", type=MOMENT),
    click.option("--ended-until", type=MOMENT),
)


def limit_option(default: int) -> Callable[[Command], Command]:
    """How many rows of a list are shown; by so many unless it is given."""
    return click.option(
        "--limit", type=click.IntRange(0), default=default, show_default=True, help="How many, at most; 0: all."
    )


def page_size(limit: int) -> int:
    """How many rows to ask for at once: as many as are shown, and one, which says whether there are more."""
    return min(limit + 1, 1_000) if limit else 1_000


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value:
        assert param.name
        setattr(ctx.ensure_object(Session), param.name, value)


def _profile_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    del ctx, param
    try:
        known = profiles.load(profiles.config_file()).named
    except profiles.ProfileError:
        return []
    return [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]
