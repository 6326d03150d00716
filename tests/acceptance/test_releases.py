"""Two releases of a project side by side: the new one has renamed, moved and removed delayed tasks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from delayhub.local.service import Service
from tests.acceptance.celery_worker import worker_service
from tests.migrated_file import put_kept_file
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent / "release_project"
#: The queues of each release's workers: those of the new one take what the old one left, too.
QUEUES = {"old": "delayhub.timers,parcels", "new": "delayhub.timers,shipping,parcels"}
#: Both have the same tables.
DATABASE = "parcels.sqlite3"
#: A job of the task for each name.
SCHEDULE = """
import sys
import django
django.setup()
from parcels import tasks
for name in sys.argv[2:]:
    getattr(tasks, sys.argv[1]).schedule(args=[name], biz_id=name)
"""


class Releases:
    """Both releases, on one broker and one database."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.folder = folder
        self.broker = broker
        put_kept_file(folder / DATABASE, self._migrate)

    def schedule(self, release: str, task: str, *names: str) -> None:
        """Makes a job for each name; fails where that release raises."""
        self._python(release, SCHEDULE, task, *names)

    @contextmanager
    def worker(self, release: str, *, queues: str = "") -> Iterator[Service]:
        """A worker of that release."""
        folder = self.folder / release
        folder.mkdir(exist_ok=True)
        options = ("--pool", "threads", "-c", "2", "--hostname", f"{release}@here", "-Q", queues or QUEUES[release])
        with worker_service("parcels", self._environment(release), *options, folder=folder) as service:
            yield service

    def ran(self) -> set[str]:
        """What ran, and in which release: ``a.new``."""
        return {path.name for path in self.folder.glob("*.*") if path.suffix in {".old", ".new", ".weighed"}}

    def row(self, name: str) -> tuple[str, str]:
        """The status and the last error of a job."""
        with sqlite3.connect(self.folder / DATABASE, timeout=60) as database:
            query = "SELECT status, last_error FROM delayhub_job WHERE biz_id = ?"
            row: tuple[str, str] = database.execute(query, [name]).fetchone()
        database.close()
        return row

    def _migrate(self, database: Path) -> None:
        migrate = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
        own = {**self._environment("old"), "PARCELS_DATABASE": str(database)}
        subprocess.run(migrate, env=own, check=True, timeout=240)

    def _environment(self, release: str) -> dict[str, str]:
        own = {
            "PARCELS_RELEASE": release,
            "PARCELS_BROKER": self.broker,
            "PARCELS_DATABASE": str(self.folder / DATABASE),
            "DJANGO_SETTINGS_MODULE": "parcels.settings",
            "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ["PYTHONPATH"]]),
        }
        return {**os.environ, **own}

    def _python(self, release: str, program: str, *arguments: str) -> None:
        command = [sys.executable, "-c", program, *arguments]
        subprocess.run(command, env=self._environment(release), check=True, timeout=120)


@pytest.fixture
def releases(broker: str, tmp_path: Path) -> Releases:
    return Releases(broker, tmp_path)


def test_jobs_that_the_old_release_made_run_in_the_new_one_on_its_queue(releases: Releases) -> None:
    releases.schedule("old", "send", "a", "b")

    # Not the old queue: a job that waits goes to the queue that the new release names.
    with releases.worker("new", queues="delayhub.timers,shipping") as worker:
        wait_until(lambda: releases.ran() == {"a.new", "b.new"}, otherwise=worker.log.read_text)


@pytest.mark.nightly  # by day: tests/integration/tasksapp/task_backends/test_delayed_task_releases.py
@pytest.mark.parametrize("first", ["old", "new"])
def test_both_releases_make_and_run_jobs_side_by_side(releases: Releases, first: str) -> None:
    second = "new" if first == "old" else "old"

    with releases.worker("old") as old, releases.worker("new") as new:
        releases.schedule(first, "send", "a", "b", "c", "d")  # the biz type is made with the names of this release
        releases.schedule(second, "send", "e", "f", "g", "h")
        releases.schedule(first, "send", "i", "j")

        def logs() -> str:
            return old.log.read_text() + new.log.read_text()

        wait_until(lambda: len(releases.ran()) == 10, otherwise=logs)
        assert "unregistered" not in logs()

    assert {releases.row(name) for name in "abcdefghij"} == {("succeeded", "")}


def test_the_job_of_a_removed_task_says_so_within_seconds(releases: Releases) -> None:
    releases.schedule("old", "weigh", "a")

    with releases.worker("new", queues="delayhub.timers,parcels,parcels.tasks") as new:

        def reason() -> str:
            status, reason = releases.row("a")
            assert status == "pending"
            return reason

        wait_until(lambda: "parcels.weigh is not registered in new@here" in reason(), otherwise=new.log.read_text)
