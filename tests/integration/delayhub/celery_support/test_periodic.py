"""Periodic entries as people see them, from Python and from the command line."""

from __future__ import annotations

import json
from datetime import timedelta

from celery import Celery
from celery.bin.base import CLIContext
from click.testing import CliRunner

from delayhub.beat import Scheduler
from delayhub.celery_support.command import delayhub as command
from delayhub.celery_support.control import Control


def test_entries_are_listed_by_name_and_one_that_is_in_no_schedule_can_be_forgotten(app: Celery) -> None:
    app.conf.update(
        result_expires=None,
        beat_schedule={
            "tidy": {"task": "shop.tidy", "schedule": timedelta(hours=1)},
            "close": {"task": "shop.close", "schedule": 60.0, "options": {"queue": "orders"}},
        },
    )
    beat = Scheduler(app)
    beat.tick()
    beat.close()
    control = app.control
    assert isinstance(control, Control)

    close, tidy = control.schedules()

    assert (close.name, close.task, close.schedule, close.queue) == ("shop/close", "shop.close", "every 60 s", "orders")
    assert (close.last, close.published) == (None, 0)
    assert close.next is not None
    assert close.seen is not None
    # Two moments of one tick: what was seen first, and from when on the minute counts.
    assert close.next - close.seen <= timedelta(minutes=1, seconds=1)
    assert control.schedules("celery") == [tidy]

    def run(*arguments: str) -> object:
        context = CLIContext(app=app, no_color=True, workdir=None)
        result = CliRunner().invoke(command, ["schedules", "--json", *arguments], obj=context)
        assert result.exit_code == 0, result.output
        return json.loads(result.output)

    assert [row["name"] for row in run("-Q", "orders")] == ["shop/close"]  # type: ignore[attr-defined]  # a list of rows
    assert run("--forget", "shop/close") == {"name": "shop/close", "forgotten": True}
    assert run("--forget", "shop/close") == {"name": "shop/close", "forgotten": False}
    assert control.schedules() == [tidy]
