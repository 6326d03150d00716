"""``delayhub up | demo``: starts a whole site on this machine."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import click

from delayhub.cli.site_options import options
from delayhub.demo import demo, up
from delayhub.demo.site import SiteOptions
from delayhub.extras import require

PORT = click.IntRange(1, 65_535)
#: The options that say how the site is set up.
site = options(
    click.option(
        "--data",
        "data_dir",
        type=click.Path(path_type=Path),
        default="var",
        show_default=True,
        envvar="DELAYHUB_DATA_DIR",
        show_envvar=True,
        help="The data folder.",
    ),
    click.option("--port", "web_port", type=PORT, help="Of admin and API; for up 8000 where that is free."),
    click.option("--redis-port", type=PORT, help="A free one by default."),
    click.option("--receiver-port", type=PORT, help="A free one by default."),
)


class Seconds(click.FloatRange):
    """A number of seconds in a range; nan is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Ends the command with a sentence where it is out of the range."""
        seconds = super().convert(value, param, ctx)
        return seconds if seconds == seconds else self.fail(f"{value} is no number of seconds.", param, ctx)  # noqa: PLR0124  nan is not equal to itself


@click.command(name="up")
@site
def up_command(**given: Any) -> int:
    """Start Redis, web server, worker and a receiver of callbacks on this machine, until Ctrl-C."""
    return start(lambda: up.run(SiteOptions(**given)))


@click.command(name="demo")
@site
@click.option("--jobs", type=click.IntRange(20, 20_000), default=300, show_default=True, help="How many.")
@click.option("--seconds", type=Seconds(1, 3600), default=15.0, show_default=True, help="Over which they are due.")
def demo_command(jobs: int, seconds: float, **given: Any) -> int:
    """Start such a site, create a few hundred jobs, watch them fire, and check what came of them."""
    return start(lambda: demo.run(SiteOptions(**given), jobs=jobs, seconds=seconds))


def start(run: Callable[[], int]) -> int:
    """The exit code of a command; SIGINT, SIGTERM and SIGHUP end its services.

    Raises NotInstalled where something is not installed that the services need.
    """
    require("standalone", "django", "celery")
    # SIGINT too: a shell starts background programs with SIGINT ignored.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, end_as_ctrl_c_does)
    return run()


def end_as_ctrl_c_does(signal_number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, so that each of these signals ends the services one after another."""
    raise KeyboardInterrupt
