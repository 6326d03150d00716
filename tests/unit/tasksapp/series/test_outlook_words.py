"""What a schedule means, in words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.translation import override

from tasksapp.errors import InvalidSeries
from tasksapp.series.outlook import cron_words, interval_words, times_words


@pytest.mark.parametrize(
    ("expression", "english"),
    [
        ("0 9 * * 1-5", "At 09:00, Monday through Friday (UTC time)"),
        ("*/15 * * * *", "Every 15 minutes (UTC time)"),
        ("30 5 9 * * *", "At 09:05:30 (UTC time)"),
        ("0 0 * * 5L", "At 00:00, on the last Friday of the month (UTC time)"),
        # the library says "the last Monday and Friday", which is not what runs
        ("0 0 * * 1,5L", "At these times: minute 0; hour 0; day of the week 1,5L (UTC time)"),
        # it says "or" where both must match
        (
            "0 0 */2 * 1",
            (
                "At these times: minute 0; hour 0; day of the month */2; day of the week 1; "
                "on days that match both the day of the month and the day of the week (UTC time)"
            ),
        ),
    ],
)
def test_an_expression_is_a_sentence(expression: str, english: str) -> None:
    with override("en"):
        assert cron_words(expression) == english


def test_days_and_months_are_in_the_language_of_the_sentence() -> None:
    with override("zh-hans"):
        said = cron_words("0 9 * 3 1-5")

    assert "星期一" in said
    assert "三月" in said
    assert "Monday" not in said


def test_there_are_no_words_for_what_is_refused() -> None:
    with pytest.raises(InvalidSeries):
        cron_words("0 0 30 2 *")


@pytest.mark.parametrize(
    ("every", "words"),
    [
        (timedelta(days=1), "Every day"),
        (timedelta(hours=36), "Every 36 hours"),
        (timedelta(minutes=90), "Every 90 minutes"),
        (timedelta(seconds=90), "Every 90 seconds"),
        (timedelta(seconds=1.5), "Every 1.5 seconds"),
    ],
)
def test_an_interval_is_said_in_its_largest_unit(every: timedelta, words: str) -> None:
    assert interval_words(every) == words
    assert times_words(3) == "At 3 times"
