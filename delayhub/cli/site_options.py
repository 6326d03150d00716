"""The options that every command has which asks a site."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from delayhub.cli import profiles
from delayhub.cli.session import Session
from delayhub.cli.times import duration, moment
from delayhub.errors import OptionError


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


DURATION, MOMENT, JOB = Duration(), Moment(), JobName()
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


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
