"""Three beats on the tables of django-celery-beat, of which only the one that publishes writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.postgres import postgres_url
from tests.repository import ROOT


@pytest.mark.slow
def test_tables_of_django_celery_beat(broker: str, tmp_path: Path) -> None:
    """One process for all that is to be seen: each costs two seconds to start."""
    database = f"sqlite:///{tmp_path}/tables.sqlite3"
    if os.environ.get("DELAYHUB_TEST_DATABASE") == "postgresql":
        server, name = urlsplit(postgres_url()), f"tables_{os.getpid()}"
        with psycopg.connect(urlunsplit(server._replace(path="/postgres")), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        database = urlunsplit(server._replace(path=f"/{name}"))
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.delayhub.beat.table_beats", broker, database],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=own,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        # a start writes only what changed
        "rewriting": {"untouched": True, "changed": "[2]"},
        "counting": {"published": [0, 1, 1, 1], "runs": 3, "has_last": True},
        # a loser's sync does not end it once it is enabled again
        "one_off": {"first": [1, 0], "again": [1, 0], "enabled": [False, True]},
        # another beat ends the row of one that was killed before it did
        "killed": {"died_after": 1, "more": 0, "enabled": False},
        # nothing of the time that it was disabled is made up for
        "edits": {"shorter": [0, 1, 1], "disabled": 0, "enabled": [0, 1], "deleted": 0},
        "actions": {"published": [0, 1, 0, 0, 0, 1]},
        "bounds": {"published": [0, 1]},
        "at_a_clock_time": {"published": 1, "late": False},
    }
