"""What runs of jobs need of the project; imported once its settings are known, it sets Django up."""

from __future__ import annotations

import importlib
import time
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django

django.setup()

from django.db import Error, connections  # noqa: E402  these need the project

from benchmarks.processes import QUIET  # noqa: E402  as above
from delayhub.project.celery import app  # noqa: E402  as above
from tasksapp.models import LIVE, BizType, Job  # noqa: E402  as above


class Server(ThreadingMixIn, WSGIServer):
    """A thread for each connection."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, form: str, *arguments: object) -> None:
        """Nothing."""


def serve(port: int) -> None:
    """Serves the project until it is killed."""
    application = importlib.import_module("delayhub.project.wsgi").application  # here, since it starts threads
    make_server("127.0.0.1", port, application, server_class=Server, handler_class=Handler).serve_forever()


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


def close_connections() -> None:
    """Closes those of this process."""
    connections.close_all()
