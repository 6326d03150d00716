"""What tests of maintenance may ask for."""

from __future__ import annotations

import pytest

from delayhub.engine import TimerLane
from tasksapp.maintenance.loader import Loader
from tests.fixture_types import LoseTimers


@pytest.fixture
def loader() -> Loader:
    """A loader that has not had a turn."""
    return Loader(using="default")


@pytest.fixture
def lose_timers(lane: TimerLane) -> LoseTimers:
    """Takes the timers away but nothing else, as a stale replica would."""

    def lose() -> None:
        lane.client.delete(*(lane.keys.queue(name).waiting for name in ("order.close", "other")))

    return lose
