"""A worker beside the site's own, which is not killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from delayhub.demo.site import Site
from delayhub.local.service import Service


@contextmanager
def second_worker(site: Site) -> Iterator[Service]:
    """Runs it until the end of the block; it may begin to take jobs a moment later."""
    command = ["celery", "--app", "delayhub.project", "worker", "--hostname", "second@localhost"]
    made = Service(
        "second worker",
        command=[sys.executable, "-m", *command, "--pool", "threads", "--concurrency", "4", "--loglevel", "INFO"],
        environment=site.environment,
        log=site.folder.logs / "second_worker.log",
        is_ready=lambda: True,
    )
    try:
        made.launch()
        yield made
    finally:
        made.stop()
