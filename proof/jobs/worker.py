"""A worker process without threads: its claimer, dispatcher and outcome writer go on when they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from delayhub.engine import Lease
from proof.jobs.receiver import Receiver
from proof.jobs.site import USING
from proof.row_clock import RowClock
from tasksapp import tasks
from tasksapp.conf import options
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.dispatcher import Dispatcher
from tasksapp.delivery.fair_queue import Caps
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.outcomes import CallbackResult
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.workers.delivery_runtime import DeliveryRuntime
from tasksapp.workers.job_callbacks import JobCallbacks


@dataclass
class Taken:
    """Timers that a worker has claimed.

    Args:
        ids: of their jobs.
        leases: of the timers.
        now_ms: when they were due.
        until_ms: when the leases end.
        is_delivered: whether the task has run for them.
    """

    ids: list[str]
    leases: list[Lease]
    now_ms: int
    until_ms: int
    is_delivered: bool = False


class SteppedDispatcher(Dispatcher):
    """The dispatcher, whose loop belongs to the run."""

    def start_in(self, loop: asyncio.AbstractEventLoop, sender: Receiver) -> None:
        """Starts it without a thread."""
        self._loop, self._sender, self._ended = loop, sender, []

    @property
    def open_tasks(self) -> list[asyncio.Task[Any]]:
        """Callbacks that are under way."""
        return list(self._open)


class Worker:
    """One worker process.

    Args:
        name: what its rows say.
        clock: the clock of the history.
        loop: the event loop of the run.
        receiver: what its callbacks reach.
        most_open: how many callbacks it has open at once.
    """

    def __init__(
        self, name: str, *, clock: RowClock, loop: asyncio.AbstractEventLoop, receiver: Receiver, most_open: int
    ) -> None:
        given: Any = clock
        self.name, self.using, self.clock, self._loop = name, USING, clock, loop
        self.id = uuid4().hex[:12]
        self.claimer = Claimer(clock=given, worker=name, using=USING)
        self.completer = Completer(clock=given, worker=name, using=USING)
        self.callbacks = JobCallbacks(clock=given, completer=self.completer)
        self.outcome_writer = OutcomeWriter(
            write=self.callbacks.write, renew=self.callbacks.renew, close=self.completer.close, clock=given,
            flush_size=options().flush_size, flush_seconds=options().flush_seconds,
            renew_seconds=options().renew_seconds,
        )  # fmt: skip
        self.outcome_writer._next_renewal = clock.monotonic() + options().renew_seconds
        self.dispatcher = SteppedDispatcher(
            lambda: receiver, writer=self.outcome_writer, caps=Caps(process=most_open), clock=given
        )
        self.dispatcher.start_in(loop, receiver)
        #: Claims of timers that are not acknowledged yet.
        self.taken: list[Taken] = []

    hand_over = DeliveryRuntime.hand_over

    def deliver(self, taken: Taken, lane: str, *, ungated: Sequence[str] = ()) -> None:
        """Runs the task that due timers become."""
        with patch.object(tasks, "delivery_runtime", lambda: self):
            tasks.deliver.run(taken.ids, lane=lane, now_ms=taken.now_ms, ungated=list(ungated))

    @property
    def reported(self) -> list[CallbackResult]:
        """Outcomes that are not written yet."""
        return list(self.outcome_writer._results)

    @property
    def holds(self) -> list[Callback]:
        """Callbacks without a written outcome."""
        return list(self.outcome_writer._held.values())

    @property
    def renews(self) -> bool:
        """Whether it is time to renew leases."""
        return self.clock.monotonic() >= self.outcome_writer._next_renewal
