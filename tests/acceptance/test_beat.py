"""A real beat process, whose tasks come at once, with a countdown, or too late."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from delayhub.engine import DelayQueue
from tests.acceptance.celery_worker import PROJECT, CeleryWorker
from tests.waiting import wait_until


@pytest.mark.timing
def test_beat_sends_tasks_that_run_on_time_and_those_that_expire_do_not(
    proj: Any, env: dict[str, str], worker: Callable[..., CeleryWorker], redis_client: redis.Redis, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "celery", "-A", "proj", "beat", "--schedule", str(tmp_path / "schedule")]
    with worker("threads") as running, (tmp_path / "beat.log").open("wb") as log:
        beat = subprocess.Popen(
            [*command, "--pidfile", "", "--max-interval", "1"],
            cwd=PROJECT,
            env={**os.environ, **env},
            stdout=log,
            stderr=log,
        )
        try:
            for name in ("often", "later"):
                wait_until(
                    lambda name=name: proj.ledger.llen(f"ledger:{name}") >= 3,
                    otherwise=lambda name=name: f"{name}: {running.log}",
                )
        finally:
            beat.terminate()
            beat.wait(60)
        wait_until(lambda: not any(DelayQueue(redis_client, "celery").count()), otherwise="an empty queue")

    late = [float(seconds) for seconds in proj.ledger.lrange("ledger:later", 0, -1)]
    assert min(late) >= 0
    assert statistics.median(late) < 0.5  # and not the last ones: the whole machine may have stood still for a moment
    assert proj.ledger.llen("ledger:stale") == 0
    assert "Discarding revoked task: proj.tick" in running.log
