"""The dispatcher with a sender that does as the test says: caps, fairness, leases, shutdown."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tasksapp.delivery.callback import Callback
from tasksapp.delivery.dispatcher import Dispatcher
from tasksapp.delivery.fair_queue import Caps
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Returned
from tests.callbacks import CLOCK, numbered_callback
from tests.unit.tasksapp.delivery.books import Books


@dataclass
class Obedient:
    """Sends nothing; an attempt ends when the test lets it."""

    open: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    most_open: int = 0
    hold: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self._released = asyncio.Event()

    async def send(self, one: Callback) -> CallbackResult:
        with self.changed:
            self.open.append(one.job_id)
            self.most_open = max(self.most_open, len(self.open))
            self.changed.notify_all()
        try:
            if one.target.biz_type in self.hold:
                await self._released.wait()
            else:
                await asyncio.sleep(0)
        finally:
            self.open.remove(one.job_id)
        with self.changed:
            self.sent.append(one.job_id)
            self.changed.notify_all()
        return CallbackResult(callback=one, outcome=Delivered(), started_ms=1)

    async def close(self) -> None:
        self._released.set()

    def wait_until(self, done: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(done, 20)


@contextmanager
def running(sender: Obedient, books: Books, caps: Caps | None = None) -> Iterator[tuple[Dispatcher, OutcomeWriter]]:
    writer = books.writer()
    dispatcher = Dispatcher(lambda: sender, writer=writer, caps=caps, clock=CLOCK)
    dispatcher.start()
    try:
        yield dispatcher, writer
    finally:
        dispatcher.stop(drain_seconds=0.1)


def test_every_callback_is_sent_and_written_once() -> None:
    sender, books = Obedient(), Books()
    jobs = [numbered_callback(n) for n in range(55)]

    with running(sender, books) as (dispatcher, writer):
        dispatcher.hand_over(jobs)
        assert writer.wait_until_idle(20)

    assert sorted(sender.sent) == sorted(job.job_id for job in jobs)
    assert len(books.results) == 55
    assert writer.held == 0


def test_no_more_are_open_than_the_cap_says() -> None:
    sender, books = Obedient(), Books()

    with running(sender, books, Caps(process=3)) as (dispatcher, writer):
        dispatcher.hand_over([numbered_callback(n) for n in range(6)])
        dispatcher.hand_over([numbered_callback(n) for n in range(6, 12)])
        assert writer.wait_until_idle(20)

    assert sender.most_open == 3
    assert len(sender.sent) == 12


def test_a_slow_biz_type_holds_up_nothing_but_itself() -> None:
    sender, books = Obedient(hold={"slow"}), Books()
    fast = [numbered_callback(n, "fast") for n in range(20)]

    with running(sender, books, Caps(process=100, biz_type=10, host=10)) as (dispatcher, _):
        dispatcher.hand_over([numbered_callback(n, "slow") for n in range(40)])
        dispatcher.hand_over(fast)
        sender.wait_until(lambda: len(sender.sent) == len(fast))
        assert len(sender.open) == 10

    # beyond the cap and the twice as many that may wait, the slow ones were given back at once; the others at the end
    given_back = [result for result in books.results if isinstance(result.outcome, Returned)]
    assert len(given_back) == 40
    assert sum(result.outcome == Returned("too many of its biz type wait", 1.0) for result in given_back) == 10


def test_several_slow_biz_types_hold_up_nothing_but_themselves() -> None:
    sender, books = Obedient(hold={"slow-1", "slow-2", "slow-3"}), Books()
    fast = [numbered_callback(n, "fast") for n in range(20)]

    with running(sender, books, Caps(process=100, biz_type=50, host=25)) as (dispatcher, _):
        for start in range(0, 200, 20):
            for slow in sorted(sender.hold):
                dispatcher.hand_over([numbered_callback(start + n, slow) for n in range(20)])
        dispatcher.hand_over(fast)
        sender.wait_until(lambda: len(sender.sent) == len(fast))
        assert len(sender.open) == 75


def test_while_a_full_process_makes_callbacks_wait_their_leases_are_renewed() -> None:
    books, waiting = Books(), [numbered_callback(n) for n in range(3)]
    with running(Obedient(), books) as (_, writer):
        writer.take(waiting[:2], room=1)
        hand_over = threading.Thread(target=writer.take, args=[waiting[2:]], kwargs={"room": 1})
        hand_over.start()
        with writer._changed:
            assert writer._changed.wait_for(lambda: writer.held == 3, 20)
        writer._renew_held()
        assert books.renewals == 3
        for one in waiting:
            writer.report(CallbackResult(callback=one, outcome=Delivered()))
        hand_over.join(60)
        assert not hand_over.is_alive()


def test_a_callback_whose_lease_is_too_short_is_not_begun() -> None:
    sender, books = Obedient(), Books()
    late = numbered_callback(1, lease=2.5)

    with running(sender, books) as (dispatcher, writer):
        dispatcher.hand_over([late])
        assert writer.wait_until_idle(20)

    assert sender.sent == []
    assert books.outcome_of(late) == Returned("its lease was too short to begin")


@pytest.mark.parametrize(
    ("once", "outcome"),
    [
        (False, Returned("the worker stopped before the answer came")),
        # it is unknown whether the receiver accepted it
        (True, GiveUp("the worker stopped before the answer came: the outcome is unknown", "outcome_unknown")),
    ],
)
def test_at_shutdown_what_is_open_too_long_is_cut_off(*, once: bool, outcome: object) -> None:
    sender, books = Obedient(hold={"slow"}), Books()
    one = numbered_callback(1, "slow", once=once)

    with running(sender, books) as (dispatcher, _):
        dispatcher.hand_over([one])
        sender.wait_until(lambda: bool(sender.open))

    assert books.outcome_of(one) == outcome
