"""What becomes of occurrences that nothing published in time."""

from __future__ import annotations

import pytest

from delayhub.beat.definition import Missed, Turn, turn
from delayhub.errors import OptionError

MINUTE = 60_000


@pytest.mark.parametrize(
    ("policy", "late_ms", "deadline_ms", "expected"),
    [
        # late, not missed: published for its own time, whatever the policy
        (Missed.SKIP, 9_000, None, Turn(0, MINUTE)),
        # one message stands for all, with the time of the last
        (Missed.ONCE, 150_000, None, Turn(2 * MINUTE, 3 * MINUTE)),
        # the oldest first, the others follow
        (Missed.ALL, 150_000, None, Turn(0, MINUTE)),
        (Missed.SKIP, 150_000, None, Turn(0, 3 * MINUTE)),
        # the last one is only late
        (Missed.SKIP, 125_000, None, Turn(2 * MINUTE, 3 * MINUTE)),
        # beat_cron_starting_deadline
        (Missed.ONCE, 150_000, 20_000, Turn(0, 3 * MINUTE)),
        (Missed.ONCE, 150_000, 40_000, Turn(2 * MINUTE, 3 * MINUTE)),
    ],
)
def test_a_turn(policy: Missed, late_ms: int, deadline_ms: int | None, expected: Turn) -> None:
    start = 10 * MINUTE  # a nominal time of 0 would mean that nothing is published
    now = start + late_ms

    found = turn(
        start,
        now,
        policy=policy,
        following=lambda at: at + MINUTE,
        missed=lambda: list(range(start, now + 1, MINUTE)),
        deadline_ms=deadline_ms,
    )

    is_published = policy is not Missed.SKIP or late_ms < 150_000
    is_published = is_published and deadline_ms != 20_000
    assert found == Turn(start + expected.nominal_ms if is_published else 0, start + expected.next_ms)


def test_a_policy_that_there_is_not_is_refused() -> None:
    with pytest.raises(OptionError, match="beat_missed must be once, all or skip, got 'twice'"):
        Missed.of("twice")
