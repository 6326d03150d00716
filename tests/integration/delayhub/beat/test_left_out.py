"""A beat on tables of django-celery-beat that hold wrong rows, and times without zones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repository import ROOT


@pytest.fixture
def found(broker: str, tmp_path: Path) -> dict[str, Any]:
    """What a process of its own found, on SQLite: it keeps rows that other databases refuse."""
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    script, database = "tests.integration.delayhub.beat.table_rows", f"sqlite:///{tmp_path}/tables.sqlite3"
    command = [sys.executable, "-m", script, broker, database]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=own)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_wrong_rows_are_left_out_with_the_reason_and_times_without_zones_are_djangos(found: dict[str, Any]) -> None:
    """One process for all of it: each costs seconds to start."""
    rows = found["rows"]
    # No row keeps another one from being published, nor is any published more often than it should be.
    assert rows["published"] == {
        "sound": 2,
        # what can be published in spite of it
        "changed at the first moment": 3,
        "changed at the last moment": 2,
        "clocked at the first moment": 1,
        "no task": 2,
        "priority out of range": 2,
        "ran at the last moment": 2,
        "starts at the first moment": 2,
        # what the broker or Celery refuses at each time, and logs
        "args that are no list": 0,
        "expires after ages": 0,
        "kwargs that are a list": 0,
        "unknown queue": 0,
        # what is over, or has not begun
        "clocked at the last moment": 0,
        "expires at the first moment": 0,
        "expires in the past": 0,
        "starts at the last moment": 0,
    }
    assert {name: reason.removeprefix("left out: ")[:42] for name, reason in rows["left out"].items()} == {
        "args that are no JSON": "its arguments are no JSON: django-celery-b",
        "clocked at no time": "AttributeError: 'NoneType' object has no a",
        "crontab of a day that never is": rows["left out"]["crontab of a day that never is"][10:52],  # Celery's words
        "crontab of an unknown zone": "ValidationError: [\"Invalid timezone 'Mars/",
        "crontab that cannot be read": "ValueError: Invalid end range: 61 > 59.",
        "crontab with no step": "ValueError: slice step cannot be zero",
        "crontab without a minute": "ParseException: empty part",
        "headers that are a list": "TypeError: list indices must be integers o",
        "headers that are no JSON": "JSONDecodeError: Expecting property name e",
        "headers with an unknown policy": "OptionError: beat_missed must be once, all",
        "interval backwards": "an interval must be at least 1 s, got -5 s",
        "interval of an unknown period": "TypeError: 'eons' is an invalid keyword ar",
        "interval of microseconds": "an interval must be at least 1 s, got 1e-0",
        "interval of nothing": "an interval must be at least 1 s, got 0 s",
        "interval without end": "OverflowError: days=2147483647; must have ",
        "no schedule": "it has no schedule",
        "schedule that is gone": "it has no schedule",
        "solar of an unknown event": "ImproperlyConfigured: You need to install ",
        "solar without its library": "ImproperlyConfigured: You need to install ",
    }
    assert found["calendar"] == "as Django"
    for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
        assert found[zone] == {"clocked": 60, "starts": 30, "ends": 90, "message expires": 90, "edited": 0}, zone
