"""What a command line says of a series: which one it is, when it runs, and what its jobs get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from delayhub.cli.job_input import BODY, CONTENT_TYPE, RAW, TEXT, with_exact_bytes
from delayhub.cli.site_options import DURATION, MOMENT, Parsed
from delayhub.client import Client
from delayhub.client.models.series import CatchUp, Overlap
from delayhub.errors import OptionError

Command = TypeVar("Command", bound=Callable[..., Any])
#: A series' number, or its biz type and its name.
Name = int | tuple[str, str]


class SeriesName(Parsed):
    """A series' number, or its biz type and its name: ``report.daily/morning``."""

    name = "series"

    def parse(self, text: str) -> Name:
        """The number, or the biz type and the name. Raises OptionError."""
        if text.isascii() and text.isdigit():
            return int(text)
        biz_type, slash, name = text.partition("/")
        if not (slash and biz_type and name):
            raise OptionError(f"a series is named by its number, or as BIZ_TYPE/NAME, got {text!r}")
        return biz_type, name


SERIES = SeriesName()


def number_of(api: Client, name: Name) -> int:
    """The number of the series. Raises ClickException where there is none of that name."""
    if isinstance(name, int):
        return name
    found = next(iter(api.series.list(biz_type=name[0], name=name[1], page_size=1)), None)
    if found is None:
        raise click.ClickException(f"{name[0]} has no series {name[1]!r}.")
    return found.id


def schedule(command: Command) -> Command:
    """The options that say when a series runs."""
    for option in reversed(
        [
            click.option("--cron", help="Such as '0 9 * * 1-5'; with six fields the first is that of the seconds."),
            click.option("--time-zone", help="That of --cron, such as Asia/Shanghai."),
            click.option("--every", type=DURATION, help="In place of --cron: how long from one to the next."),
            click.option("--at", "times", type=MOMENT, multiple=True, help="In place of --cron; several times."),
            click.option("--anchor", type=MOMENT, help="One of the times that --every leads to."),
            click.option("--starts-at", type=MOMENT, help="None is due before."),
            click.option("--ends-at", type=MOMENT, help="None is due after."),
            click.option("--count", type=click.IntRange(1), help="It ends after so many."),
            click.option("--jitter", type=DURATION, help="Each is due up to so much later."),
        ]
    ):
        command = option(command)
    return command


def content(command: Command) -> Command:
    """The options that say what the jobs of a series get, and how they get on with each other."""
    for option in reversed(
        [
            click.option("--overlap", type=click.Choice(get_args(Overlap)), help="If the one before has not finished."),
            click.option("--catch-up", type=click.Choice(get_args(CatchUp)), help="Which run after an outage."),
            click.option("--biz-id", help="The business key of its jobs."),
            click.option("--body", type=BODY, help="JSON for the receiver; @FILE reads a file, - the standard input."),
            RAW,
            TEXT,
            CONTENT_TYPE,
            click.option("--priority", type=click.IntRange(0, 9), help="0 goes first, 9 last."),
            click.option("--max-attempts", type=click.IntRange(1), help="In place of the biz type's."),
            click.option("--request", type=BODY, help="Their own timeout, headers and URL, as JSON, or @FILE."),
            click.option("--flow-key", help="Whose jobs they are, such as a customer."),
        ]
    ):
        command = option(command)
    return command


def fields_of(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that the options give. Raises UsageError where there are two bodies."""
    found = {
        name: list(value) if name == "times" else value for name, value in given.items() if value not in (None, ())
    }
    return with_exact_bytes(found)
