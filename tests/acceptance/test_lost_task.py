"""A process that dies in the middle of a task, and a task that outlasts its lease."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from delayhub.local.service import Service
from tests.acceptance.celery_worker import worker_service
from tests.waiting import wait_until

#: Makes the biz type with the shortest lease there can be, and a job for each name.
SCHEDULE = """
import sys
import django
django.setup()
from patience.tasks import wait_for
from tasksapp.models import BizType
BizType.objects.create(code="patience.wait", target="celery", task_name=wait_for.name, timeout_seconds=1)
for name in sys.argv[1:]:
    wait_for.schedule(args=[name], biz_id=name)
"""


@pytest.fixture
def worker(patience: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    schedule = [sys.executable, "-c", SCHEDULE, "long", "killed"]
    subprocess.run(schedule, env=patience, check=True, timeout=120)
    with worker_service("patience", patience, "--concurrency", "2", folder=tmp_path) as service:
        yield service


@pytest.mark.slow
def test_a_lost_task_runs_again_and_a_long_one_keeps_its_lease(worker: Service, tmp_path: Path) -> None:
    def began(name: str) -> list[int]:
        return [int(path.suffix[1:]) for path in tmp_path.glob(f"{name}.began.*")]

    def job(name: str) -> tuple[str, int, int]:
        with sqlite3.connect(tmp_path / "patience.sqlite3", timeout=60) as database:
            query = "SELECT status, attempts, system_errors FROM delayhub_job WHERE biz_id = ?"
            row: tuple[str, int, int] = database.execute(query, [name]).fetchone()
        database.close()
        return row

    wait_until(lambda: bool(began("long") and began("killed")), otherwise=worker.log.read_text)
    os.kill(began("killed")[0], signal.SIGKILL)
    # The lease of two seconds runs out, the loader returns the row, another process takes it.
    wait_until(lambda: len(began("killed")) == 2, otherwise=worker.log.read_text)
    (tmp_path / "killed").touch()
    (tmp_path / "long").touch()
    wait_until(lambda: job("long")[0] == job("killed")[0] == "succeeded", otherwise=worker.log.read_text)

    # A process that died is no attempt of the task's.
    assert job("killed") == ("succeeded", 1, 1)
    # The other ran all that time, and its lease was renewed.
    assert job("long") == ("succeeded", 1, 0)
    assert len(began("long")) == 1
