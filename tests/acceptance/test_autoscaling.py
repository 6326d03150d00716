"""``--autoscale`` where tasks have limits: the pool grows and shrinks, and the limits hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker
from tests.waiting import wait_until

#: Seconds after its last task until a pool shrinks.
SHRINKS = {"AUTOSCALE_KEEPALIVE": "1"}


def most_at_once(events: Sequence[tuple[float, int]]) -> int:
    """Return how many ran at once at most; of each start its time and 1, of each end its time and -1."""
    running = most = 0
    for _, step in sorted(events):
        running += step
        most = max(most, running)
    return most


def runs(proj: Any, ids: Collection[str]) -> list[tuple[float, int]]:
    """Return the starts and ends of the calls of ``run`` with these ids."""
    started = [(at, 1) for task_id, at in ledger.times(proj) if task_id in ids]
    return started + [(at, -1) for task_id, at in ledger.times(proj, "end") if task_id in ids]


def runs_of_key(proj: Any, tenant: str) -> list[tuple[float, int]]:
    """Return the starts and ends of ``keyed``, which notes both by the tenant's name."""
    noted = ledger.times(proj, tenant)
    started, ended = dict(reversed(noted)), dict(noted)
    return [(at, 1) for at in started.values()] + [(at, -1) for at in ended.values()]


def processes(proj: Any) -> int:
    """Return how many processes the worker's pool has, as the worker says."""
    found = proj.app.control.inspect(timeout=0.3).stats() or {}
    return sum(stats["autoscaler"]["current"] for stats in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("are_reached", [False, True])
def test_an_autoscaled_pool_grows_and_shrinks_and_limits_hold(
    proj: Any, env: dict[str, str], tmp_path: Path, *, are_reached: bool
) -> None:
    # The project's tasks `limited` and `keyed` have limits, also where none is called.
    with CeleryWorker({**env, **SHRINKS}, pool="prefork", folder=tmp_path, options=("--autoscale=4,1",)):
        limited = [proj.limited.delay().id for _ in range(6 * are_reached)]
        keyed = [proj.keyed.delay("a").id for _ in range(6 * are_reached)]
        plain = [proj.run.delay(0.5).id for _ in range(12)]

        wait_until(lambda: set(plain) <= set(ledger.task_ids(proj, "end")), otherwise="the end of 12 tasks")
        wait_until(lambda: len(ledger.times(proj, "a")) == 2 * len(keyed), otherwise="the end of all keyed tasks")
        wait_until(lambda: set(limited) <= set(ledger.task_ids(proj)), otherwise="a start of all limited tasks")
        wait_until(lambda: processes(proj) == 1, otherwise="a pool of one process")

    at_once = most_at_once(runs(proj, plain))
    assert at_once >= 3 if are_reached else at_once == 4
    assert most_at_once(runs_of_key(proj, "a")) == are_reached
    starts = [at for task_id, at in ledger.times(proj) if task_id in limited]
    assert not starts or max(starts) - min(starts) > 0.7  # six at 5/s take a second


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_pool_that_cannot_grow_says_so_and_goes_on(proj: Any, env: dict[str, str], tmp_path: Path, pool: str) -> None:
    with CeleryWorker(env, pool=pool, folder=tmp_path, options=("--autoscale=4,2",)) as worker:
        ids = [proj.run.delay(0.05).id for _ in range(12)]

        wait_until(lambda: set(ids) == set(ledger.task_ids(proj, "end")), otherwise="the end of 12 tasks")
        assert worker.is_running
        assert "--autoscale has no effect with this pool, which cannot grow" in worker.log
