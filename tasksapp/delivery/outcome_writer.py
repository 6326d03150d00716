"""Writes a dispatcher's outcomes in small batches, and renews leases, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from delayhub.clock import Clock
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import CallbackResult

logger = logging.getLogger(__name__)

#: After a batch could not be written, it is tried again so many seconds later.
RETRY_SECONDS = 0.5


class OutcomeWriter:
    """Holds the callbacks of a process, from hand-over until their outcome is written.

    Args:
        write: writes outcomes; an exception is logged, and the batch is kept and tried again one by one.
        renew: renews the leases of callbacks and sets their new ends.
        close: closes the thread's database connection; called before the thread ends or waits after a failure.
        clock: tells the time.
        flush_size: so many outcomes are written at once without waiting for more.
        flush_seconds: how long an outcome waits for others.
        renew_seconds: how often leases are renewed.
    """

    def __init__(
        self,
        *,
        write: Callable[[Sequence[CallbackResult]], None],
        renew: Callable[[Sequence[Callback]], None],
        close: Callable[[], None],
        clock: Clock,
        flush_size: int,
        flush_seconds: float,
        renew_seconds: float,
    ) -> None:
        self._write = write
        self._renew = renew
        self._close = close
        self._clock = clock
        self._flush_size = flush_size
        self._flush_seconds = flush_seconds
        self._renew_seconds = renew_seconds
        self._held: dict[tuple[str, int], Callback] = {}
        self._results: deque[CallbackResult] = deque()
        #: So many are written one by one after a batch failed: one of them may be the cause.
        self._one_by_one = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._next_renewal = 0.0
        self._thread = threading.Thread(target=self._run, name="delayhub-outcome-writer", daemon=True)

    @property
    def held(self) -> int:
        """How many callbacks have no written outcome yet."""
        return len(self._held)

    def start(self) -> None:
        """Starts the thread."""
        self._next_renewal = self._clock.monotonic() + self._renew_seconds
        self._thread.start()

    def take(self, callbacks: Sequence[Callback], *, room: int) -> None:
        """Holds the callbacks, and waits until there is room for them; their leases are renewed meanwhile."""
        with self._changed:
            for callback in callbacks:
                self._held[callback.job_id, callback.token] = callback
            self._changed.wait_for(lambda: len(self._held) - len(callbacks) < room or self._stopping)

    def report(self, *results: CallbackResult) -> None:
        """Takes results; their outcomes are written soon."""
        with self._changed:
            before = len(self._results)
            self._results.extend(results)
            if not before or before < self._flush_size <= len(self._results):
                self._changed.notify_all()

    def wait_until_idle(self, timeout_seconds: float) -> bool:
        """Whether every outcome was written within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, timeout_seconds)

    def stop(self) -> None:
        """Tries once to write what is left, and ends the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """Writes a batch, and renews leases when it is time; whether both succeeded."""
        written = self._flush()
        if self._clock.monotonic() >= self._next_renewal:
            self._next_renewal = self._clock.monotonic() + self._renew_seconds
            written = self._renew_held() and written
        return written

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work, self._renewal_in())
                if self._results and len(self._results) < self._flush_size and not self._stopping:
                    # Wait a few ms for more, so that they are written together.
                    self._changed.wait_for(self._is_full, self._flush_seconds)
                if self._stopping and not self._results:
                    break
            done = self.run_once()
            if not done and self._stopping and not self._one_by_one:
                break
            if not done:
                self._close()
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, RETRY_SECONDS)
        self._close()

    def _has_work(self) -> bool:
        return bool(self._results) or self._stopping

    def _is_full(self) -> bool:
        return len(self._results) >= self._flush_size or self._stopping

    def _renewal_in(self) -> float:
        return max(0.0, self._next_renewal - self._clock.monotonic())

    def _flush(self) -> bool:
        with self._changed:
            size = 1 if self._one_by_one else self._flush_size
            batch = [self._results.popleft() for _ in range(min(len(self._results), size))]
        if not batch:
            return True
        self._one_by_one = max(0, self._one_by_one - 1)
        try:
            self._write(batch)
        except Exception:
            logger.exception("outcomes were not written, trying again", extra={"action": "write", "jobs": len(batch)})
            with self._changed:
                if len(batch) > 1:
                    self._results.extendleft(reversed(batch))
                    self._one_by_one = len(batch)
                else:
                    self._results.append(batch[0])  # behind the others, which it must not hold up
            return False
        with self._changed:
            for result in batch:
                self._held.pop((result.callback.job_id, result.callback.token), None)
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
            self._next_renewal = self._clock.monotonic() + RETRY_SECONDS
            return False
        return True
