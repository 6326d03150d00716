"""How long the database has answered without a break: counted by answers, and handed from loader to loader."""

from __future__ import annotations

import pytest

from delayhub.engine import TimerLane
from delayhub.testing import MovableClock
from tasksapp.maintenance.database_uptime import DatabaseUptime

#: Answers that come so often make no break, with leases of a minute: a third of one and two turns.
OFTEN, GAP = 20.0, 23.0
LEASE_SECONDS = 60.0


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def uptime(clock: MovableClock) -> DatabaseUptime:
    """The uptime as it is after a lease of answers."""
    uptime = DatabaseUptime(clock=clock)
    watch(uptime, clock)
    return uptime


def watch(uptime: DatabaseUptime, clock: MovableClock) -> None:
    """Lets a lease pass while the database answers often."""
    uptime.note_answer()
    for _ in range(int(LEASE_SECONDS / OFTEN)):
        clock.advance(seconds=OFTEN)
        uptime.note_answer()


def test_it_covers_a_lease_once_answers_came_for_so_long(clock: MovableClock) -> None:
    uptime = DatabaseUptime(clock=clock)
    covers = []
    for _ in range(4):
        uptime.note_answer()
        covers.append(uptime.covers_a_lease())
        clock.advance(seconds=OFTEN)

    assert covers == [False, False, False, True]


def test_a_gap_between_answers_is_a_break(uptime: DatabaseUptime, clock: MovableClock) -> None:
    assert uptime.covers_a_lease()

    clock.advance(seconds=GAP)
    uptime.note_answer()

    assert not uptime.covers_a_lease()


def test_the_next_loader_counts_on(uptime: DatabaseUptime, clock: MovableClock) -> None:
    uptime.save()
    clock.advance(seconds=1)
    following = DatabaseUptime(clock=clock)

    following.load()
    following.note_answer()

    assert following.covers_a_lease()


def test_after_a_failure_the_next_loader_counts_from_zero(
    uptime: DatabaseUptime, clock: MovableClock, lane: TimerLane
) -> None:
    uptime.save()
    uptime.reset()
    following = DatabaseUptime(clock=clock)

    following.load()
    following.note_answer()

    assert not uptime.covers_a_lease()
    assert not following.covers_a_lease()
    assert not lane.client.exists(lane.keys.database)
