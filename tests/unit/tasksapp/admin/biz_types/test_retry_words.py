"""A retry schedule in a sentence and as a table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasksapp.admin.biz_types.retry_words import SHOWN, schedule_context, schedule_sentence
from tasksapp.jobs.retry_policy import RetrySchedule, schedule_of
from tests.retry_policies import retry_policy


def schedule(backoff: str = "exponential", **fields: Any) -> RetrySchedule:
    return schedule_of(retry_policy(backoff, **fields))


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            schedule(),
            "Waits 10 s, 20 s, 40 s, 1 min 20 s, 2 min 40 s, 5 min 20 s …; gives up after 16 attempts, 7 h 25 min.",
        ),
        (schedule(jitter=0.5, max_attempts=2), "Waits 10 s; gives up after 2 attempts, 10 s to 15 s."),
        (schedule(max_attempts=1), "One attempt and no retry."),
        (schedule("fixed", max_age=timedelta(seconds=25)), "Waits 10 s, 10 s; the age ends it after 3 attempts, 20 s."),
        (schedule(max_age=timedelta()), "No retry: the age ends it after the first attempt."),
        (
            schedule("fixed", jitter=0.5, max_age=timedelta(seconds=45)),
            "Waits 10 s, 10 s, 10 s, 10 s; the age ends it after 4 to 5 attempts, 40 s to 45 s.",
        ),
        (
            schedule("fixed", jitter=0.5, max_attempts=3, max_age=timedelta(seconds=25)),
            "Waits 10 s, 10 s; gives up after 3 attempts or by age, 20 s to 25 s.",
        ),
    ],
)
def test_the_sentence_names_the_waits_and_the_end(made: RetrySchedule, sentence: str) -> None:
    assert schedule_sentence(made) == sentence


def test_a_long_table_is_cut_and_says_by_how_much() -> None:
    shown = schedule_context(schedule(max_attempts=1000))

    assert len(shown["schedule_rows"]) == SHOWN
    assert shown["schedule_left_out"] == 1000 - SHOWN
    assert schedule_context(None) == {"schedule": None}
