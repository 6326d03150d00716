"""What runs of jobs need of the project; imported once its settings are known, it sets Django up."""

from __future__ import annotations

import time

import django
from granian import Granian
from granian.constants import HTTPModes, Interfaces

django.setup()

from django.db import Error, connections  # noqa: E402  these need the project

from benchmarks.processes import QUIET  # noqa: E402  as above
from delayhub.project.celery import app  # noqa: E402  as above
from tasksapp.models import LIVE, BizType, Job  # noqa: E402  as above


def serve(port: int) -> None:
    """Serves the project until it is killed."""
    Granian(
        "delayhub.project.wsgi:application", address="127.0.0.1", port=port, interface=Interfaces.WSGI,
        http=HTTPModes.http1, websockets=False, blocking_threads=4,
    ).serve()  # fmt: skip


def work(pool: str) -> None:
    """Works until it is killed."""
    app.worker_main(words(pool))


def words(pool: str) -> list[str]:
    """The arguments of a worker."""
    name = f"w{time.monotonic_ns()}@here"
    return ["worker", "-P", pool, "-c", "2", "-n", name, "-l", "INFO", *QUIET, "--without-heartbeat"]


def call_back(url: str) -> None:
    """Callbacks go there from now on, and fail early."""
    BizType.objects.update(url=url, timeout_seconds=2, backoff_min_seconds=1, jitter=0)


def live() -> set[str] | None:
    """The ids of jobs that have not ended; None where the database does not say."""
    try:
        return set(map(str, Job.objects.filter(status__in=LIVE).values_list("id", flat=True)))
    except Error:
        close_connections()
        return None


def numbers() -> dict[str, int]:
    """The number of each job, which is its biz id, by its own id."""
    return {str(job_id): int(biz_id) for job_id, biz_id in Job.objects.values_list("id", "biz_id")}


def close_connections() -> None:
    """Closes those of this process."""
    connections.close_all()
