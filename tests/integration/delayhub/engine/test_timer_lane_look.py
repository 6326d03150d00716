"""Looking at the timers of a lane without changing them."""

from __future__ import annotations

from delayhub.engine import TimerLane
from tests.fixture_types import Now


def test_a_look_at_timers_shows_waiting_leased_and_absent(lane: TimerLane, now_ms: Now) -> None:
    later = now_ms() + 60_000
    lane.ensure("close", [("waits", later)], step=3)
    lane.ensure("close", [("goes", 1)])
    lane.claim()

    assert lane.look("close", ["waits", "goes", "absent"]) == [later, 0, None]
    assert lane.look("close", []) == []


def test_all_waiting_timers_are_listed_however_many(lane: TimerLane, now_ms: Now) -> None:
    later = now_ms() + 60_000
    names = [f"job-{number}" for number in range(3_000)]
    lane.ensure("close", [(name, later) for name in names])
    lane.ensure("other", [("not-this-one", later)])

    pages = [page for _, page in lane.waiting("close")]

    assert sorted(name for page in pages for name in page) == sorted(names)
    assert len(pages) > 1
    assert list(lane.waiting("absent")) == []
