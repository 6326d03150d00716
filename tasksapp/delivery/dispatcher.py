"""One dispatcher per process: takes callbacks over, sends them concurrently, and hands back what became of them.

An event loop in a thread of its own sends; a second thread writes outcomes in small batches and renews leases, so that
neither waits for the other, and the task that hands callbacks over waits for nobody while there is room.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from tasksapp.delivery.callback import Callback
from tasksapp.delivery.clerk import Clerk
from tasksapp.delivery.outcomes import Finding, GiveUp, Returned
from tasksapp.delivery.sender import Clock

logger = logging.getLogger(__name__)

#: A callback begins only if its lease outlives its timeout by so much.
LEASE_MARGIN_SECONDS = 2.0
#: Callbacks of one biz type that wait for each one that is open; more are given back, so that they fill nobody's room.
WAITING_PER_OPEN = 2


class Sends(Protocol):
    """Sends callbacks; made inside the dispatcher's loop."""

    async def send(self, callback: Callback) -> Finding: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """How much may be open at once.

    Args:
        process: callbacks of this process.
        biz_type: of one biz type.
        host: to one host.
    """

    process: int = 2_000
    biz_type: int = 1_000
    host: int = 500


class Dispatcher:
    """Sends callbacks and reports what became of each.

    Args:
        make_sender: makes the sender, inside the loop.
        clerk: writes outcomes and renews leases, in its own thread.
        caps: see :class:`Caps`.
        clock: tells the time.
    """

    def __init__(
        self, make_sender: Callable[[], Sends], *, clerk: Clerk, caps: Caps | None = None, clock: Clock
    ) -> None:
        self._make_sender = make_sender
        self._clerk = clerk
        self._caps = caps or Caps()
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="delayhub-dispatcher", daemon=True)

    def start(self) -> None:
        """Starts both threads; call it after a fork, never before."""
        self._clerk.start()
        self._thread.start()
        self._ready.wait()

    def hand_over(self, callbacks: Sequence[Callback]) -> None:
        """Takes the callbacks over; waits while the process has as many as it may hold."""
        self._clerk.take(callbacks, room=self._caps.process * 2)
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._begin, callbacks)

    def stop(self, *, drain_seconds: float) -> None:
        """Lets what is open end for so long, gives back the rest, and writes every outcome."""
        if self._loop is None or self._stopping:
            return
        self._stopping = True
        # What has not begun goes back at once; what is open gets its time.
        self._loop.call_soon_threadsafe(self._cancel_waiting)
        if not self._clerk.wait_until_idle(drain_seconds):
            self._loop.call_soon_threadsafe(self._cancel_all)
            self._clerk.wait_until_idle(5.0)
        self._loop.call_soon_threadsafe(self._finished.set)
        self._thread.join(10.0)
        self._clerk.stop()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._sender = self._make_sender()
        self._finished = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._count: dict[str, int] = defaultdict(int)
        self._biz_types: dict[str, asyncio.Semaphore] = {}
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._process = asyncio.Semaphore(self._caps.process)
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._finished.wait()
        await self._sender.close()

    def _begin(self, callbacks: Sequence[Callback]) -> None:
        for callback in callbacks:
            biz_type = callback.target.biz_type
            if self._stopping:
                self._report(Finding(callback=callback, outcome=Returned("the worker is stopping")))
            elif self._count[biz_type] >= self._caps.biz_type * (1 + WAITING_PER_OPEN):
                outcome = Returned("too many of its biz type are open", after_seconds=1.0)
                self._report(Finding(callback=callback, outcome=outcome))
            else:
                self._count[biz_type] += 1
                self._spawn(self._deliver(callback))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        self._waiting.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._waiting.discard(task)

    async def _deliver(self, callback: Callback) -> None:
        finding = Finding(callback=callback, outcome=Returned("the worker is stopping"))
        begun = False
        try:
            async with AsyncExitStack() as stack:
                target = callback.target
                # The narrowest first, so that who waits for a slow host holds no room of the others.
                for cap in (self._host(target.host), self._biz_type(target.biz_type), self._process):
                    await stack.enter_async_context(cap)
                if self._lease_left(callback) < target.timeout_seconds + LEASE_MARGIN_SECONDS:
                    finding = Finding(callback=callback, outcome=Returned("its lease was too short to begin"))
                    return
                self._waiting.discard(asyncio.current_task())
                begun = True
                finding = await self._sender.send(callback)
        except asyncio.CancelledError:
            if begun:
                # Bytes may have been sent: it comes back when its lease runs out, as from a worker that was killed.
                finding = Finding(callback=callback, outcome=_unknown(callback))
        except Exception:
            logger.exception("a callback could not be sent", extra={"action": "send", "job_id": callback.job_id})
            finding = Finding(callback=callback, outcome=Returned("system: the sender failed", after_seconds=10.0))
        finally:
            self._count[callback.target.biz_type] -= 1
            self._report(finding)

    def _lease_left(self, callback: Callback) -> float:
        return callback.lease_ends - self._clock.monotonic()

    def _report(self, finding: Finding) -> None:
        self._clerk.report(finding)

    def _host(self, host: str) -> asyncio.Semaphore:
        return self._hosts.setdefault(host, asyncio.Semaphore(self._caps.host))

    def _biz_type(self, code: str) -> asyncio.Semaphore:
        return self._biz_types.setdefault(code, asyncio.Semaphore(self._caps.biz_type))

    def _cancel_waiting(self) -> None:
        # One turn later: a task that is cancelled before its first step would never report.
        asyncio.get_running_loop().call_soon(_cancel, self._waiting)

    def _cancel_all(self) -> None:
        asyncio.get_running_loop().call_soon(_cancel, self._tasks)


def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tuple(tasks):
        task.cancel()


def _unknown(callback: Callback) -> GiveUp | Returned:
    if callback.target.at_most_once:
        return GiveUp("the worker stopped before the answer came: the outcome is unknown")
    return Returned("the worker stopped before the answer came")


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  optional: a third faster where it is installed
    except ImportError:
        return None
    loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return loop
