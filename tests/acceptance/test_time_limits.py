"""Tasks that run into Celery's time limits, in real processes: each time is an attempt of the task."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from delayhub.local.service import Service
from tests.acceptance.celery_worker import worker_service
from tests.waiting import wait_until

SCHEDULE = """
import django
django.setup()
from patience.tasks import plain, stuck, warned
from tasksapp import jobs
from tasksapp.models import BizType
at_once = {"target": "celery", "backoff": "fixed", "backoff_min_seconds": 0, "jitter": 0}
for task in stuck, warned:
    BizType.objects.create(code=task.biz_type, task_name=task.name, **at_once)
    task.schedule()
BizType.objects.create(code="patience.plain", task_name=plain.name, max_attempts=1, **at_once)
jobs.create("patience.plain")
"""


@pytest.fixture
def worker(patience: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    subprocess.run([sys.executable, "-c", SCHEDULE], env=patience, check=True, timeout=120)
    with worker_service("patience", patience, "--concurrency", "2", folder=tmp_path) as service:
        yield service


@pytest.mark.slow
def test_a_time_limit_is_a_failed_attempt_of_the_task(worker: Service, tmp_path: Path) -> None:
    def jobs() -> dict[str, tuple[str, int, int, str]]:
        with sqlite3.connect(tmp_path / "patience.sqlite3", timeout=60) as database:
            query = (
                "SELECT b.code, j.status, j.attempts, j.system_errors, j.last_error"
                " FROM delayhub_job j JOIN delayhub_biz_type b ON b.id = j.biz_type_id"
            )
            rows = {row[0]: row[1:] for row in database.execute(query)}
        database.close()
        return rows

    wait_until(
        lambda: all(status == "dead" for status, *_ in jobs().values()),
        otherwise=lambda: f"{jobs()}\n{worker.log.read_text()}",
    )

    found = jobs()
    assert {code: row[1:3] for code, row in found.items()} == {
        "patience.stuck": (2, 0),
        "patience.warned": (2, 0),
        "patience.plain": (1, 0),
    }
    assert "TimeLimitExceeded: the task ran for its time limit of 1 s" in found["patience.stuck"][3]
    assert "SoftTimeLimitExceeded" in found["patience.warned"][3]
    assert "TimeLimitExceeded: the task ran for its time limit of 1 s" in found["patience.plain"][3]
