"""Keeps the leases of rows whose tasks run in this process, however long they run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import Error, connections

from delayhub.engine import Clock
from tasksapp.conf import options
from tasksapp.sql.renew_leases import renew_leases

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A row that this process works on."""

    job_id: UUID
    token: int
    lease: timedelta
    using: str


class LeaseKeeper:
    """Renews leases from a thread of its own, three times within the shortest lease there can be.

    Args:
        clock: Redis' time, which leases are judged by.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: set[Held] = set()
        self._lock = threading.Lock()
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, held: Held) -> Iterator[None]:
        """Renews the row's lease until the block ends."""
        with self._lock:
            self._held.add(held)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="delayhub-lease-keeper", daemon=True)
                self._thread.start()
        self._busy.set()
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(held)

    def run_once(self) -> int:
        """Renews every lease, and says how many still held."""
        with self._lock:
            held = list(self._held)
        kept = 0
        for using in {row.using for row in held}:
            rows = [row for row in held if row.using == using]
            now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
            renewed = renew_leases([(row.job_id, row.token, now + row.lease) for row in rows], using=using)
            for row in rows:
                if row.job_id not in renewed:
                    logger.warning(
                        "job %s is not ours any more; its outcome will not count",
                        row.job_id,
                        extra={"action": "renew", "job_id": str(row.job_id)},
                    )
            kept += len(renewed)
        return kept

    def forget(self) -> None:
        """Starts anew: a forked child has its parent's rows, but not its thread."""
        self.__init__(self._clock)  # type: ignore[misc]  # the only way to reset all of it alike

    def _loop(self) -> None:
        pause = threading.Event()  # never set: its timeout is the pause
        while True:
            self._busy.wait()
            pause.wait(options().renew_seconds)
            try:
                self.run_once()
            except Error as error:
                logger.warning("leases were not renewed, trying again: %s", error, extra={"action": "renew"})
            except Exception:
                # Tasks go on, so their leases must: no fault of one turn may end this thread.
                logger.exception("leases were not renewed, trying again", extra={"action": "renew"})
            finally:
                connections.close_all()
            with self._lock:
                if not self._held:
                    self._busy.clear()
