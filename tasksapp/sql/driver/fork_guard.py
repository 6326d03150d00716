"""ForkGuard: no process is forked while a thread uses a connection to the database or to Redis.

A child has copies of its parent's connections, but not of the threads that own them: Python then closes the copies, and
with that ends the parent's connection to the server.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

#: A turn that takes longer than this waits for a server; a child forked meanwhile uses nothing of it.
LONGEST_WAIT_SECONDS = 2.0


class ForkGuard:
    """Held by a thread while it has a connection; forks of the process wait for its end."""

    def __init__(self) -> None:
        self._held = threading.Lock()
        self._forking = False
        os.register_at_fork(before=self.pause, after_in_parent=self.go_on, after_in_child=self._forget)

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.release()

    def pause(self) -> None:
        """Waits for the thread, before a fork."""
        self._forking = self._held.acquire(timeout=LONGEST_WAIT_SECONDS)

    def go_on(self) -> None:
        """Lets the thread go on, after a fork."""
        if self._forking:
            self._held.release()

    def _forget(self) -> None:
        self._held = threading.Lock()
