from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from tasksapp.delivery.answer_protocol import TURN_SECONDS, ParsingTurns
from tests.standing_clock import StandingClock


@dataclass
class Loop:
    """Keeps what is to be called in the next turn."""

    next: list[Callable[[], None]] = field(default_factory=list)

    def call_soon(self, function: Callable[[], None]) -> None:
        self.next.append(function)

    def turn(self) -> None:
        due, self.next = self.next, []
        for function in due:
            function()


@dataclass
class Connection:
    """Has so many slices to parse, each of which takes so long."""

    clock: StandingClock
    slices: int
    seconds: float = 0.002
    parsed: int = 0
    is_reading: bool = False

    def parse_slice(self) -> bool:
        self.clock.seconds += self.seconds
        self.parsed += 1
        return self.parsed < self.slices

    def resume(self) -> None:
        self.is_reading = True


def turns_of(loop: Loop, clock: StandingClock) -> ParsingTurns:
    return ParsingTurns(loop, clock=clock)  # type: ignore[arg-type]  # it asks a loop for call_soon only


def test_a_turn_has_time_until_its_share_is_used_up() -> None:
    loop, clock = Loop(), StandingClock()
    turns = turns_of(loop, clock)

    assert turns.has_time()
    clock.seconds += TURN_SECONDS / 2
    assert turns.has_time()
    clock.seconds += TURN_SECONDS
    assert not turns.has_time()

    loop.turn()
    assert turns.has_time()


def test_connections_that_wait_take_turns_and_read_on_at_their_end() -> None:
    loop, clock = Loop(), StandingClock()
    turns = turns_of(loop, clock)
    short, long = Connection(clock, slices=1), Connection(clock, slices=6)
    turns.has_time()
    turns.wait(long)
    turns.wait(short)

    loop.turn()

    assert (short.parsed, short.is_reading) == (1, True)
    assert (long.parsed, long.is_reading) == (2, False)
    for _ in range(2):
        loop.turn()
    assert (long.parsed, long.is_reading) == (6, True)


def test_a_slice_that_takes_longer_than_a_turn_is_parsed_all_the_same() -> None:
    loop, clock = Loop(), StandingClock()
    turns = turns_of(loop, clock)
    slow = Connection(clock, slices=2, seconds=TURN_SECONDS * 3)
    turns.has_time()
    turns.wait(slow)

    loop.turn()
    assert slow.parsed == 1

    loop.turn()
    assert slow.is_reading


def test_a_quiet_loop_is_not_called_again() -> None:
    loop, clock = Loop(), StandingClock()
    turns = turns_of(loop, clock)
    turns.has_time()

    loop.turn()

    assert loop.next == []


def test_it_runs_in_a_real_loop() -> None:
    async def run() -> bool:
        turns, connection = ParsingTurns(asyncio.get_running_loop()), Connection(StandingClock(), slices=50)
        turns.has_time()
        turns.wait(connection)
        while not connection.is_reading:
            await asyncio.sleep(0)
        return connection.is_reading

    assert asyncio.run(asyncio.wait_for(run(), 20))
