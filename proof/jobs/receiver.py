"""The receiver of all callbacks, a participant of the history: it answers when it is told to, or never."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proof.broken import Broken
from proof.jobs.oracle import Answer
from tasksapp.delivery.answers import ACTION, NEXT_IN, judge
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import CallbackResult, Failure, GiveUp, Response, Retry, Returned

if TYPE_CHECKING:
    from proof.jobs.worker import Worker

#: Status code and headers of answers, what they mean, and how often they come.
ANSWERS: dict[str, tuple[int, dict[str, str], Answer, int]] = {
    "200": (200, {}, Answer("done"), 5),
    "200 and calls off the others": (200, {ACTION: "cancel-others"}, Answer("done", calls_off=True), 2),
    "500": (500, {}, Answer("failed"), 6),
    "503, again in 12 s": (503, {NEXT_IN: "12"}, Answer("failed", asked_ms=12_000), 1),
    "503, again in 1 s": (503, {NEXT_IN: "1"}, Answer("failed", asked_ms=1000), 1),
    "410": (410, {}, Answer("gone"), 3),
    "nothing in time": (0, {}, Answer("failed"), 2),
}


@dataclass
class Call:
    """A callback that has begun.

    Args:
        callback: the callback.
        worker: who sends it; None once that is gone.
        ends: ends it.
        began_ms: when it began.
    """

    callback: Callback
    worker: Worker | None
    ends: asyncio.Future[CallbackResult]
    began_ms: int

    @property
    def job_id(self) -> str:
        """The job."""
        return self.callback.job_id


class Receiver:
    """Takes callbacks of one worker.

    Args:
        now_ms: tells the time.
        begins: told of each callback whose first byte is sent; says what is wrong with that.
        connects: whether the next connection is made.
    """

    def __init__(
        self, *, now_ms: Callable[[], int], begins: Callable[[Callback], None], connects: Callable[[], bool]
    ) -> None:
        self._now_ms, self._begins, self._connects = now_ms, begins, connects
        self.worker: Worker | None = None
        self.open: list[Call] = []
        self.broken: Broken | None = None

    async def send(self, callback: Callback) -> CallbackResult:
        """As a sender does it."""
        if not self._connects():
            unsent = Retry("connection refused", unsent=True, kind=Failure.REFUSED)
            return CallbackResult(callback, unsent, started_ms=self._now_ms())
        try:
            self._begins(callback)
        except Broken as broken:
            self.broken = self.broken or broken
        call = Call(callback, self.worker, asyncio.get_running_loop().create_future(), self._now_ms())
        self.open.append(call)
        return await call.ends

    async def close(self) -> None:
        """Nothing is open but what waits for an answer."""

    def answer(self, call: Call, name: str) -> None:
        """Ends a callback."""
        code, headers, _, _ = ANSWERS[name]
        now_ms = self._now_ms()
        outcome: Any = Retry("no answer in time", kind=Failure.TIMEOUT)
        if code:
            outcome = judge(call.callback.target, code, headers, now_ms=now_ms)
        response = Response(code, headers, "") if code else None
        took_ms = now_ms - call.began_ms
        self.open.remove(call)
        call.ends.set_result(CallbackResult(call.callback, outcome, call.began_ms, took_ms, response))


def meaning(result: CallbackResult, said: str | None) -> Answer:
    """What became of a callback: by the answer that was said, else by what kept it from being sent."""
    if said is not None:
        return ANSWERS[said][2]
    match result.outcome:
        case Retry(unsent=True):
            return Answer("unsent")
        case Returned(after_seconds=seconds):
            return Answer("returned", after_ms=int(seconds * 1000))
        case GiveUp():
            return Answer("gone")
    raise Broken(f"an outcome that nobody answered: {result.outcome}")
