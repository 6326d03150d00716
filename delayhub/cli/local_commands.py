"""``delayhub up | demo``: starts a whole site on this machine."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from delayhub.demo import demo, up
from delayhub.demo.site import SiteOptions
from delayhub.errors import DelayHubError
from delayhub.extras import require

#: The exit code that shells give a program which a Ctrl-C ended.
INTERRUPTED = 130

_AS_IT_IS = {"ignore_unknown_options": True, "help_option_names": list[str]()}


@click.command(name="up", context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def up_command(arguments: tuple[str, ...]) -> int:
    """Start a whole site on this machine."""
    return start(["up", *arguments])


@click.command(name="demo", context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo_command(arguments: tuple[str, ...]) -> int:
    """Start a site, and show what it does."""
    return start(["demo", *arguments])


def start(arguments: Sequence[str]) -> int:
    """The exit code of a command; SIGINT, SIGTERM and SIGHUP end its services.

    Raises NotInstalled where something is not installed that the services need.
    """
    require("standalone", "django", "celery")
    # SIGINT too: a shell starts background programs with SIGINT ignored.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, end_as_ctrl_c_does)
    return main(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of the command."""
    given = parser().parse_args(arguments)
    options = SiteOptions(
        data_dir=given.data,
        web_port=given.port,
        redis_port=given.redis_port,
        receiver_port=given.receiver_port,
    )
    try:
        if given.command == "up":
            return up.run(options)
        return demo.run(options, jobs=given.jobs, seconds=given.seconds)
    except DelayHubError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--data", type=Path, default=Path("var"), help="the data folder (default: ./var)")
    shared.add_argument("--redis-port", type=port, metavar="PORT", help="a free one by default")
    shared.add_argument("--receiver-port", type=port, metavar="PORT", help="a free one by default")

    whole = argparse.ArgumentParser(
        prog="delayhub",
        description="Runs Redis, web server, worker and a receiver of callbacks on this machine.",
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="up | demo")
    stay = commands.add_parser("up", parents=[shared], help="start everything and stay up until Ctrl-C")
    stay.add_argument("--port", type=port, help="of admin and API (default: 8000, or a free one when that is taken)")
    show = commands.add_parser("demo", parents=[shared], help="create a few hundred jobs, watch them fire, check")
    show.add_argument("--port", type=port, help="of admin and API (default: a free one)")
    show.add_argument("--jobs", type=count, default=300, help="how many (default: 300)")
    show.add_argument("--seconds", type=duration, default=15.0, help="over which they are due (default: 15)")
    return whole


def port(text: str) -> int:
    """A number that a port can have."""
    number = int(text)
    if not 0 < number < 65_536:
        raise argparse.ArgumentTypeError(f"a port is 1 to 65535, got {number}")
    return number


def count(text: str) -> int:
    """A number of jobs for the demo; fewer than 20 would not have each kind, and 20 000 are enough to watch."""
    number = int(text)
    if not 20 <= number <= 20_000:
        raise argparse.ArgumentTypeError(f"the demo has 20 to 20000 jobs, got {number}")
    return number


def duration(text: str) -> float:
    """A number of seconds over which the demo's jobs may be due."""
    seconds = float(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"the demo takes 1 to 3600 seconds, got {text}")
    return seconds


def end_as_ctrl_c_does(signal_number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, so that each of these signals ends the services one after another."""
    raise KeyboardInterrupt
