"""One dispatcher per process: takes callbacks, sends them concurrently, and reports what became of each.

An event loop in a thread of its own sends; the outcome writer's thread writes outcomes in small batches and renews
leases. Neither waits for the other, and the task that hands callbacks over does not wait while there is room.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from delayhub.clock import Clock
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.fair_queue import Caps, FairQueue
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.outcomes import CallbackResult, Failure, GiveUp, Returned

logger = logging.getLogger(__name__)

#: A callback begins only if its lease outlives its timeout by so much.
LEASE_MARGIN_SECONDS = 2.0


class Sends(Protocol):
    """Sends callbacks; made inside the dispatcher's loop."""

    async def send(self, callback: Callback) -> CallbackResult: ...

    async def close(self) -> None: ...


class Dispatcher:
    """Sends callbacks and reports what became of each.

    Args:
        make_sender: makes the sender, inside the loop.
        writer: writes outcomes and renews leases, in its own thread.
        caps: how many callbacks may be open at once.
        clock: tells the time.
    """

    def __init__(
        self, make_sender: Callable[[], Sends], *, writer: OutcomeWriter, caps: Caps | None = None, clock: Clock
    ) -> None:
        self._make_sender = make_sender
        self._writer = writer
        self._caps = caps or Caps()
        self._clock = clock
        self._queue = FairQueue(self._caps, clock.monotonic)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._stopping = False
        self._open: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="delayhub-dispatcher", daemon=True)

    @property
    def open_callbacks(self) -> int:
        """How many callbacks are open at this moment; any thread may ask."""
        return len(self._open)

    @property
    def room(self) -> int:
        """How many callbacks it would take now without letting the caller wait."""
        return max(0, self._caps.process * 2 - self._writer.held)

    def start(self) -> None:
        """Starts both threads; call it after a fork, never before."""
        self._writer.start()
        self._thread.start()
        self._ready.wait()

    def hand_over(self, callbacks: Sequence[Callback]) -> None:
        """Takes the callbacks; waits while the process holds as many as it may."""
        assert self._loop is not None
        self._writer.take(callbacks, room=self._caps.process * 2)
        self._loop.call_soon_threadsafe(self._begin, callbacks)

    def give_back(self, biz_type: str, reason: str) -> None:
        """Gives back the callbacks of a biz type that wait; open ones go on."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._give_back_waiting, biz_type, reason)

    def stop(self, *, drain_seconds: float) -> None:
        """Gives back what has not begun, lets open callbacks end for so long, and writes every outcome."""
        if self._loop is None or self._stopping:
            return
        self._stopping = True
        self._loop.call_soon_threadsafe(self._give_back_waiting, None, "the worker is stopping")
        if not self._writer.wait_until_idle(drain_seconds):
            self._loop.call_soon_threadsafe(self._cancel_open)
            self._writer.wait_until_idle(5.0)
        self._loop.call_soon_threadsafe(self._finished.set)
        self._thread.join(10.0)
        self._writer.stop()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._sender = self._make_sender()
        self._finished = asyncio.Event()
        self._ended: list[CallbackResult] = []
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._finished.wait()
        await self._sender.close()

    def _begin(self, callbacks: Sequence[Callback]) -> None:
        for callback in callbacks:
            if self._stopping:
                self._give_back(callback, "the worker is stopping")
            elif not self._enqueue(callback):
                # Given back, so that a slow biz type does not fill the room of the others.
                self._give_back(callback, "too many of its biz type wait", after_seconds=1.0)
        self._open_next()

    def _enqueue(self, callback: Callback) -> bool:
        if self._queue.put(callback):
            return True
        self._open_next()  # callbacks of the same hand-over may begin already
        return self._queue.put(callback)

    def _open_next(self) -> None:
        assert self._loop is not None
        for callback in self._queue.take():
            self._open.add(self._loop.create_task(self._deliver(callback)))

    async def _deliver(self, callback: Callback) -> None:
        try:
            if callback.lease_ends - self._clock.monotonic() < callback.target.timeout_seconds + LEASE_MARGIN_SECONDS:
                result = CallbackResult(callback, Returned("its lease was too short to begin"))
            else:
                result = await self._sender.send(callback)
        except asyncio.CancelledError:
            result = CallbackResult(callback, _cut_off(callback))
        except Exception:
            logger.exception("a callback could not be sent", extra={"action": "send", "job_id": callback.job_id})
            result = CallbackResult(callback, Returned("system: the sender failed", after_seconds=10.0, is_fault=True))
        task = asyncio.current_task()
        assert task is not None
        self._open.discard(task)
        self._ended.append(result)
        if len(self._ended) == 1:
            # All that end in this turn of the loop are counted and reported together.
            asyncio.get_running_loop().call_soon(self._report_ended)

    def _report_ended(self) -> None:
        ended, self._ended = self._ended, []
        for result in ended:
            self._queue.done(result.callback)
        self._writer.report(*ended)
        self._open_next()

    def _give_back(self, callback: Callback, reason: str, *, after_seconds: float = 0.0) -> None:
        self._writer.report(CallbackResult(callback, Returned(reason, after_seconds)))

    def _give_back_waiting(self, biz_type: str | None, reason: str) -> None:
        for callback in self._queue.remove(biz_type):
            self._give_back(callback, reason)

    def _cancel_open(self) -> None:
        # One turn of the loop later: a task that is cancelled before its first step would never report.
        asyncio.get_running_loop().call_soon(lambda: [task.cancel() for task in tuple(self._open)])


def _cut_off(callback: Callback) -> GiveUp | Returned:
    """What becomes of a callback that was open when the worker stopped."""
    if callback.target.at_most_once:
        return GiveUp("the worker stopped before the answer came: the outcome is unknown", Failure.OUTCOME_UNKNOWN)
    return Returned("the worker stopped before the answer came")


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  optional: a third faster where it is installed
    except ImportError:
        return None
    loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return loop
