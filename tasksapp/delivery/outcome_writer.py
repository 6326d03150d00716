"""Keeps the books of a dispatcher: writes outcomes in small batches and renews leases, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import Finding
from tasksapp.delivery.sender import Clock

logger = logging.getLogger(__name__)

#: After the database refused a batch, it is tried again so many seconds later.
REFUSED_SECONDS = 0.5


class Clerk:
    """Counts the callbacks that a process holds, from hand-over until their outcome is written.

    Args:
        write: writes outcomes; whatever it raises is logged, and the batch is kept and tried again one by one.
        renew: renews the leases of the callbacks given and sets their new ends; gives back those that are lost.
        close: called in the thread before it ends or rests, to close what it holds.
        clock: tells the time.
        flush_size: outcomes that are written at once without waiting for more.
        flush_seconds: how long an outcome waits for others.
        lease_seconds: leases are renewed when a third of this has passed.
    """

    def __init__(
        self,
        *,
        write: Callable[[Sequence[Finding]], None],
        renew: Callable[[Sequence[Callback]], None],
        close: Callable[[], None],
        clock: Clock,
        flush_size: int,
        flush_seconds: float,
        lease_seconds: float,
    ) -> None:
        self._write = write
        self._renew = renew
        self._close = close
        self._clock = clock
        self._flush_size = flush_size
        self._flush_seconds = flush_seconds
        self._renew_seconds = lease_seconds / 3
        self._held: dict[tuple[str, int], Callback] = {}
        self._findings: deque[Finding] = deque()
        #: So many are written one by one, after a batch was refused: perhaps for the fault of one of them.
        self._alone = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._next_renewal = 0.0
        self._thread = threading.Thread(target=self._run, name="delayhub-clerk", daemon=True)

    @property
    def held(self) -> int:
        """Callbacks whose outcome is not written yet."""
        return len(self._held)

    def start(self) -> None:
        """Starts the thread."""
        self._next_renewal = self._clock.monotonic() + self._renew_seconds
        self._thread.start()

    def take(self, callbacks: Sequence[Callback], *, room: int) -> None:
        """Counts callbacks in, and waits until there is room for them; their leases are renewed meanwhile."""
        with self._changed:
            for callback in callbacks:
                self._held[callback.job_id, callback.token] = callback
            self._changed.wait_for(lambda: len(self._held) - len(callbacks) < room or self._stopping)

    def report(self, *findings: Finding) -> None:
        """Takes outcomes, to be written soon."""
        with self._changed:
            before = len(self._findings)
            self._findings.extend(findings)
            if not before or before < self._flush_size <= len(self._findings):
                self._changed.notify_all()

    def wait_until_idle(self, timeout_seconds: float) -> bool:
        """Whether every outcome was written within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, timeout_seconds)

    def stop(self) -> None:
        """Writes what is left, once, and ends the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """Writes a batch, and renews leases when it is time; whether the database took it all."""
        written = self._flush()
        if self._clock.monotonic() >= self._next_renewal:
            self._next_renewal = self._clock.monotonic() + self._renew_seconds
            written = self._renew_held() and written
        return written

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work, self._renewal_in())
                if self._findings and len(self._findings) < self._flush_size and not self._stopping:
                    # A few ms for others to come, so that they are written together.
                    self._changed.wait_for(self._is_full, self._flush_seconds)
                if self._stopping and not self._findings:
                    break
            done = self.run_once()
            if not done and self._stopping and not self._alone:
                break
            if not done:
                self._close()
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, REFUSED_SECONDS)
        self._close()

    def _has_work(self) -> bool:
        return bool(self._findings) or self._stopping

    def _is_full(self) -> bool:
        return len(self._findings) >= self._flush_size or self._stopping

    def _renewal_in(self) -> float:
        return max(0.0, self._next_renewal - self._clock.monotonic())

    def _flush(self) -> bool:
        with self._changed:
            size = 1 if self._alone else self._flush_size
            batch = [self._findings.popleft() for _ in range(min(len(self._findings), size))]
        if not batch:
            return True
        self._alone = max(0, self._alone - 1)
        try:
            self._write(batch)
        except Exception:
            logger.exception("outcomes were not written, trying again", extra={"action": "write", "jobs": len(batch)})
            with self._changed:
                if len(batch) > 1:
                    self._findings.extendleft(reversed(batch))
                    self._alone = len(batch)
                else:
                    self._findings.append(batch[0])  # behind those that it must not hold up
            return False
        with self._changed:
            for finding in batch:
                self._held.pop((finding.callback.job_id, finding.callback.token), None)
            self._changed.notify_all()
        return True

    def _renew_held(self) -> bool:
        with self._changed:
            held = list(self._held.values())
        if not held:
            return True
        try:
            self._renew(held)
        except Exception:
            logger.exception("leases were not renewed, trying again", extra={"action": "renew", "jobs": len(held)})
            self._next_renewal = self._clock.monotonic() + REFUSED_SECONDS
            return False
        return True
