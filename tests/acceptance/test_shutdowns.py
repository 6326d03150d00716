"""Workers of every pool, stopped in every way, with tasks of every kind: none is lost, and none is repeated."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from delayhub.local.redis_server import RedisServer
from tests.acceptance.shutdowns import ACKS, COLD, RUNNING, SOFT, WARM, How, Outcome, Shutdown, Task, stop_all

#: A process that is lost has its task requeued, or not, which is Celery's default.
ENVIRONMENTS: dict[str, list[dict[str, str]]] = {
    "prefork": [{"REJECT_LOST": "1"}, {}],
    "solo": [{}],
    "threads": [{}],
    "gevent": [{}],
    "eventlet": [{}],
}


def expected(pool: str, how: How, task: Task) -> set[str]:
    """What may come of a task."""
    if task.kind == "eta":
        return {"waits"}  # it was never in the worker
    if task.kind == "prefetched":
        return {"waits", "done"}  # done where a place became free for it before the worker ended
    if how is WARM:
        return {"done"}
    if how is SOFT and task.kind == "ends" and pool != "solo":
        return {"done"}  # a solo worker's signals stop its only thread, which runs the task
    return {"waits"} if task.acks == "late" else {"lost"}  # what is acknowledged when it starts cannot come again


def faults(shutdown: Shutdown, outcomes: dict[Task, Outcome]) -> list[str]:
    """What is not as it should be; of Celery's own transport nothing is asked."""
    if shutdown.scheme == "redis":
        return []
    found = [
        f"{task.acks}, {task.kind}: {outcome}"
        for task, outcome in outcomes.items()
        if str(outcome) not in expected(shutdown.pool, shutdown.how, task)
    ]
    if shutdown.exit_code != 0:
        found.append(f"exit code {shutdown.exit_code}")
    return [f"{shutdown.pool}, {shutdown.how.name}: {fault}" for fault in found]


def running_at_once(pool: str) -> list[tuple[tuple[str, str], ...]]:
    """The tasks that workers of a pool run when they are stopped: a solo worker has one, the others one of each."""
    every = tuple(product(ACKS, RUNNING))
    return [(one,) for one in every] if pool == "solo" else [every]


def print_table(ours: Shutdown, kombus: Shutdown, found: list[dict[Task, Outcome]]) -> None:
    """Print outcomes side by side. Those of Celery's own transport are told and not judged."""
    print(f"{ours.pool + ', ' + ours.how.name:<24}{'delayhub':<44}redis")
    for task, own, (_, other) in zip(ours.tasks, found[0].values(), found[1].items(), strict=True):
        print(f"  {task.acks:<6}{task.kind:<16}{own!s:<44}{other!s}")
    print(
        f"  {'exit code':<22}{ours.exit_code!s:<44}{'it never ends' if kombus.exit_code is None else kombus.exit_code}"
    )


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("how", [WARM, SOFT, COLD], ids=lambda how: how.name)
@pytest.mark.parametrize("pool", ENVIRONMENTS)
def test_a_worker_that_is_stopped_loses_and_repeats_nothing(
    pool: str, how: How, redis_server: RedisServer, redis_client: object, tmp_path: Path
) -> None:
    shutdowns = [
        Shutdown(redis_server, scheme=scheme, pool=pool, how=how, running=running, folder=tmp_path, env=env)
        for env in ENVIRONMENTS[pool]
        for running in running_at_once(pool)
        for scheme in ("delayhub", "redis")
    ]

    outcomes = stop_all(shutdowns)

    for number in range(0, len(shutdowns), 2):
        print_table(*shutdowns[number : number + 2], outcomes[number : number + 2])
    found = [fault for one, each in zip(shutdowns, outcomes, strict=True) for fault in faults(one, each)]
    assert found == [], "\n".join(each.worker.log for each in shutdowns if each.scheme == "delayhub")


@pytest.mark.slow
def test_pools_end_softly_and_coldly(redis_server: RedisServer, redis_client: object, tmp_path: Path) -> None:
    briefly = {"SOFT_SECONDS": "1"}
    runs = [
        ("gevent", SOFT, briefly, (("late", "ends"), ("late", "runs on"))),
        ("prefork", SOFT, briefly, (("late", "ends"), ("late", "runs on"))),
        ("solo", SOFT, briefly, (("late", "runs on"),)),
        ("solo", COLD, {}, (("late", "runs on"),)),
        ("threads", COLD, {}, (("late", "runs on"),)),
    ]
    shutdowns = [
        Shutdown(
            redis_server, scheme="delayhub", pool=pool, how=how, running=running, folder=tmp_path, env=env, ends=0.3
        )
        for pool, how, env, running in runs
    ]

    outcomes = stop_all(shutdowns)

    found = [fault for one, each in zip(shutdowns, outcomes, strict=True) for fault in faults(one, each)]
    assert found == [], "\n".join(each.worker.log for each in shutdowns)
