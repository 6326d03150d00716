"""The shop of a crew: its app, its tasks, what publishes them and what runs them. It needs no more than Celery.

``python -m proof.faults.shop work|publish|warm URL FOLDER …`` does it in a process of its own, also in the environment
of another transport.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import celery

#: Leases of DelayHub, and the visibility timeout of others: how long a lost worker's tasks may be missing.
LEASE_SECONDS = 3
#: Half of the tasks have a countdown, shorter than a lease, since kombu gives those again that outlast its own.
COUNTDOWN_SECONDS, TASK_SECONDS = 1.5, 0.05
WARM_TASKS = 8
OPTIONS: dict[str, dict[str, Any]] = {
    "delayhub": {"lease_seconds": LEASE_SECONDS},
    # A publisher hears yes once a replica has the task, so that it outlives the master.
    "delayhub-cluster": {"lease_seconds": LEASE_SECONDS, "failover_seconds": 30, "wait_replicas": 1, "wait_seconds": 1},
    # Lost tasks are looked for every second; by itself kombu looks every 100 seconds.
    "redis": {"visibility_timeout": LEASE_SECONDS, "unacked_restore_interval": 1, "unacked_restore_throttle": 1},
    "valkey": {"visibility_timeout": LEASE_SECONDS},
}
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


def now() -> float:
    """Unix time, also where Python's own is wrong."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def shop(url: str, folder: Path) -> celery.Celery:
    """The app: a task that writes down that it runs, and when it was due."""
    scheme = url.partition(":")[0]
    app = celery.Celery("faults", broker=url, set_as_current=False)
    if scheme.startswith("delayhub"):
        importlib.import_module("delayhub").install(app)
    elif scheme == "valkey":
        # celery-redis-plus looks for lost tasks every minute, and no option says otherwise; here every second.
        importlib.import_module("celery_redis_plus.transport").DEFAULT_REQUEUE_CHECK_INTERVAL = 1  # type: ignore[attr-defined]  # no stubs
    app.conf.update(
        broker_transport_options=OPTIONS[scheme], task_acks_late=True, task_reject_on_worker_lost=True,
        task_ignore_result=True, broker_connection_retry_on_startup=True, broker_connection_max_retries=None,
        worker_prefetch_multiplier=4, worker_cancel_long_running_tasks_on_connection_loss=False,
    )  # fmt: skip

    @app.task(name="faults.mark", shared=False)
    def mark(number: int, due: float) -> None:
        note(folder / "ran", number, due, now())
        time.sleep(TASK_SECONDS)

    @app.task(name="faults.warm", bind=True, shared=False)
    def warm(task: Any) -> None:
        note(folder / "warm", task.request.hostname)
        time.sleep(TASK_SECONDS)

    return app


def note(path: Path, *words: object) -> None:
    """Appends a line, by one system call: no kill loses a part of it."""
    with path.open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def publish(app: celery.Celery, numbers: Iterable[int], chance: random.Random) -> Iterator[tuple[int, float, str]]:
    """Publishes tasks, every other one for later; number, due time and id of those whose publish was answered."""
    for number in numbers:
        countdown = chance.uniform(0.2, COUNTDOWN_SECONDS) if number % 2 else 0.0
        due = now() + countdown
        with contextlib.suppress(Exception):  # kombu raises AttributeError, too, where a connection breaks
            policy = {"max_retries": 5, "interval_start": 0.1, "interval_step": 0.1}
            mark = app.tasks["faults.mark"]
            sent = mark.apply_async((number, due), countdown=countdown, retry=True, retry_policy=policy)
            yield number, due, sent.id


def warm(app: celery.Celery) -> None:
    """Publishes tasks by which each worker says that it works."""
    for _ in range(WARM_TASKS):
        app.tasks["faults.warm"].apply_async()


def work(url: str, folder: Path, pool: str) -> None:
    """Works until it is killed."""
    words = ["worker", "-P", pool, "-c", "2", "-n", f"w{os.getpid()}@here", "-l", "WARNING"]
    shop(url, folder).worker_main([*words, *QUIET])


def main() -> None:
    """Does what the command line says."""
    verb, url, folder, *rest = sys.argv[1:]
    if verb == "work":
        work(url, Path(folder), *rest)
    elif verb == "warm":
        warm(shop(url, Path(folder)))
    else:
        first, end, seed = map(int, rest)
        for published in publish(shop(url, Path(folder)), range(first, end), random.Random(seed)):
            print(*published, flush=True)


if __name__ == "__main__":
    main()
