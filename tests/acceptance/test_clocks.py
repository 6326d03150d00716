"""Clocks that are minutes apart, or that are set while tasks run: Redis' own decides."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import redis

from delayhub.engine import Counts, DelayQueue
from tests.acceptance import ledger
from tests.acceptance.celery_worker import PROJECT, CeleryWorker
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

SKEWED = str(Path(__file__).parent / "skewed_clock")


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """The file that says how many seconds a process' clock is ahead."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


def skewed(clock: Path) -> dict[str, str]:
    """The environment of a process with that clock."""
    here = os.environ.get("PYTHONPATH", "")
    return {"CLOCK_SHIFT_FILE": str(clock), "PYTHONPATH": os.pathsep.join(filter(None, [SKEWED, here]))}


def set_to(clock: Path, seconds: float) -> None:
    new = clock.with_suffix(".new")
    new.write_text(str(seconds))
    new.replace(clock)


def runs(proj: Any) -> list[tuple[str, float, float]]:
    """Of each run: the task's id, Redis' time in ms at its start, and by how much the worker's clock was wrong."""
    return [(task_id, float(at), float(skew)) for task_id, at, skew in ledger.lines(proj, "clock")]


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [600, -600])
def test_a_worker_whose_clock_is_minutes_off_runs_each_task_once_and_on_time(
    ahead: int, proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis, clock: Path
) -> None:
    set_to(clock, ahead)
    with worker("threads", **skewed(clock), LEASE_SECONDS="1") as running:
        start = redis_now_ms(redis_client)
        due = {proj.clock.apply_async([1.2], countdown=1 + n / 10).id: start + 1000 + n * 100 for n in range(6)}
        wait_until(lambda: len(runs(proj)) >= 6, otherwise=lambda: f"six runs: {running.log}")
        wait_until(lambda: DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0), otherwise="an empty queue")

    assert sorted(due) == sorted(task_id for task_id, _, _ in runs(proj))
    assert all(abs(skew - ahead * 1000) < 5000 for _, _, skew in runs(proj)), "the worker's clock was not off"
    # two threads, tasks of 1.2 s: only the first ones find a free thread
    late = sorted(at - due[task_id] for task_id, at, _ in runs(proj))
    assert late[0] >= 0
    assert late[1] < 60_000


@pytest.mark.slow
def test_a_clock_that_is_set_while_tasks_run_and_wait_changes_nothing(
    proj: Any, worker: Callable[..., CeleryWorker], redis_client: redis.Redis, clock: Path
) -> None:
    with worker("threads", **skewed(clock), LEASE_SECONDS="1", ACKS_LATE="1") as running:
        start = redis_now_ms(redis_client)
        due = {proj.clock.apply_async([1.2], countdown=n / 5).id: start + n * 200 for n in range(12)}
        steps = cycle((300, -300, 3600, 0, -86_400))

        def all_ran() -> bool:
            set_to(clock, next(steps))
            return len(runs(proj)) >= 12

        wait_until(all_ran, otherwise=lambda: f"twelve runs: {running.log}")
        wait_until(lambda: DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0), otherwise="an empty queue")

    assert sorted(due) == sorted(task_id for task_id, _, _ in runs(proj))
    assert min(at - due[task_id] for task_id, at, _ in runs(proj)) >= 0
    assert len({round(skew, -5) for _, _, skew in runs(proj)}) > 2, "the worker's clock was never set"
    assert "ran out before they could be renewed" not in running.log


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [300, -300])
def test_a_producer_whose_clock_is_off_shifts_its_tasks_by_as_much(
    ahead: int, proj: Any, env: dict[str, str], redis_client: redis.Redis, clock: Path
) -> None:
    set_to(clock, ahead)
    before = redis_now_ms(redis_client)
    publish = "import proj; proj.run.apply_async(countdown=1000)"
    subprocess.run(
        [sys.executable, "-c", publish],
        cwd=PROJECT,
        env={**os.environ, **env, **skewed(clock)},
        check=True,
        timeout=120,
    )

    (waiting,) = DelayQueue(redis_client, "celery").list("waiting")
    assert before <= waiting.at_ms - (1000 + ahead) * 1000 <= redis_now_ms(redis_client) + 1
