"""``delayhub watch``."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from delayhub.cli.biz_type_names import BIZ_TYPE
from delayhub.cli.output import Output
from delayhub.cli.session import Session
from delayhub.cli.site_options import DURATION, SiteCommand
from delayhub.cli.stats_display import BIZ_TYPE_COLUMNS, biz_type_row, stats_rows
from delayhub.client import Client, Health, RateLimited, ServerUnavailable, Stats, Unreachable


@click.command(cls=SiteCommand)
@click.option("--biz-type", type=BIZ_TYPE, help="Only this one.")
@click.option("--every", type=DURATION, default="2s", show_default=True, help="How often it is looked.")
@click.option("--times", type=click.IntRange(1), help="How often at all; without it, until Ctrl-C.")
@click.pass_obj
def watch(session: Session, biz_type: str | None, every: timedelta, times: int | None) -> None:
    """Show the numbers of a site again and again. With --json, or in a pipe, one object a line."""
    pause = max(0.1, every.total_seconds())
    with session.client() as api:
        if session.as_json or not sys.stdout.isatty():
            _as_lines(session.out, api, biz_type, pause=pause, times=times)
            return
        with Live(console=session.out.console, screen=True, auto_refresh=False) as live:
            done = 0
            while times is None or done < times:
                live.update(_look(session.out, api, biz_type), refresh=True)
                done += 1
                time.sleep(pause)


def _as_lines(out: Output, api: Client, biz_type: str | None, *, pause: float, times: int | None) -> None:
    done = 0
    while times is None or done < times:
        if done:
            time.sleep(pause)
        out.json_line({"stats": api.stats.read(biz_type=biz_type), "health": api.stats.health()})
        sys.stdout.flush()
        done += 1


def _look(out: Output, api: Client, biz_type: str | None) -> Group:
    """The numbers now; what keeps them from coming, where the site does not answer."""
    try:
        return screen(out, api.stats.read(biz_type=biz_type), api.stats.health(), url=api.url)
    except (Unreachable, ServerUnavailable, RateLimited) as error:
        return Group(Text(api.url, style="bold"), Text(str(error), style="red"), Text("It is asked again …"))


def screen(out: Output, stats: Stats, health: Health, *, url: str) -> Group:
    """What a terminal shows."""
    return Group(
        Text(url, style="bold"),
        "",
        out.names_and_values(stats_rows(stats, health)),
        "",
        out.table(stats.biz_types, BIZ_TYPE_COLUMNS, biz_type_row(stats)),
        "",
        Text("Ctrl-C ends", style="dim"),
    )
