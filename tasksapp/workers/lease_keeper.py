"""LeaseKeeper: renews the leases of jobs whose tasks run in this process, however long they run."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connections

from tasksapp.conf import options
from tasksapp.jobs.completer import Completer
from tasksapp.jobs.running_job import RunningJob

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews leases from a thread of its own, three times within the shortest lease there can be."""

    def __init__(self) -> None:
        self._held: list[tuple[Completer, RunningJob]] = []
        self._lock = threading.Lock()
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, job: RunningJob, *, completer: Completer) -> Iterator[None]:
        """Renews the job's lease until the block ends.

        Args:
            job: the job.
            completer: renews its lease.
        """
        held = completer, job
        with self._lock:
            self._held.append(held)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="delayhub-lease-keeper", daemon=True)
                self._thread.start()
        self._busy.set()
        try:
            yield
        finally:
            with self._lock:
                self._held.remove(held)

    def run_once(self) -> int:
        """Renews every lease; gives back how many still held."""
        by_completer: dict[Completer, list[RunningJob]] = defaultdict(list)
        with self._lock:
            for completer, job in self._held:
                by_completer[completer].append(job)
        kept = 0
        for completer, jobs in by_completer.items():
            renewed = completer.renew(jobs)
            for job in jobs:
                if job.id not in renewed:
                    logger.warning(
                        "the lease of job %s was lost while its task runs; its outcome will not count",
                        job.id,
                        extra={"action": "renew", "job_id": str(job.id)},
                    )
            kept += len(renewed)
        return kept

    def forget(self) -> None:
        """Begins from nothing: a forked child has its parent's jobs, but not its thread."""
        self.__init__()  # type: ignore[misc]  # the only way to reset all of it alike

    def _run(self) -> None:
        pause = threading.Event()  # never set: its timeout is the pause
        while True:
            self._busy.wait()
            pause.wait(options().renew_seconds)
            try:
                self.run_once()
            except Error as error:
                logger.warning("leases were not renewed, trying again: %s", error, extra={"action": "renew"})
            except Exception:
                # Tasks go on, so their leases must: no failure of one turn may end this thread.
                logger.exception("leases were not renewed, trying again", extra={"action": "renew"})
            finally:
                connections.close_all()
            with self._lock:
                if not self._held:
                    self._busy.clear()
