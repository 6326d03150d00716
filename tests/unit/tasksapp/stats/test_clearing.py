"""How long a backlog takes at the current rate, in numbers and in words."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from tasksapp.stats.clearing import clearing_seconds, clearing_sentence
from tasksapp.stats.pulses import PulseSummary


@pytest.mark.parametrize(
    ("due_now", "done_per_minute", "seconds"),
    [
        (600, 50.0, 720.0),
        (0, 50.0, 0.0),
        # Nothing succeeds, so there is no end to name.
        (600, 0.0, None),
    ],
)
def test_it_is_the_due_jobs_by_the_successes_of_a_minute(
    due_now: int, done_per_minute: float, seconds: float | None
) -> None:
    assert clearing_seconds(due_now, PulseSummary(done_per_minute=done_per_minute)) == seconds


@pytest.mark.parametrize(
    ("due_now", "done_per_minute", "bound", "said"),
    [
        (0, 50.0, None, ""),
        (600, 50.0, None, "Clears in about 12 min at the current rate."),
        # Counting stopped there: there may be more.
        (600, 50.0, 600, "Clears in more than 12 min at the current rate."),
        (600, 0.0, None, "Not clearing: no job has succeeded in the last five minutes."),
    ],
)
def test_the_sentence_says_as_much_as_is_known(
    due_now: int, done_per_minute: float, bound: int | None, said: str
) -> None:
    with override("en"):
        assert clearing_sentence(due_now, PulseSummary(done_per_minute=done_per_minute), bound=bound) == said
