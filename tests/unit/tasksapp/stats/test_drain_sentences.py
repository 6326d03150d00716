"""What forecasts say."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from tasksapp.stats.capacity import Capacity, Limit
from tasksapp.stats.drain_sentences import done_between, no_job_waits

GUESS = Capacity(1_500.0, Limit.UNKNOWN, False)


def test_two_times_of_one_second_are_said_once() -> None:
    at = timezone.localtime().replace(hour=8, minute=1, second=57, microsecond=200)

    assert "done at 08:01:57" in done_between("3", at, at + timedelta(milliseconds=700), GUESS)
    assert "done between 08:01:57 and 08:01:58" in done_between("3", at, at + timedelta(seconds=1), GUESS)


def test_a_pace_has_as_many_digits_as_say_something() -> None:
    assert no_job_waits(GUESS) == "No job waits (about 1,500/s, not measured yet)"
    assert no_job_waits(Capacity(2.5, Limit.RATE, True)) == "No job waits (limit 2.5/s)"
    assert no_job_waits(Capacity(12.5, Limit.RATE, True)) == "No job waits (limit 12.5/s)"
    assert no_job_waits(Capacity(1_234.125, Limit.RATE, True)) == "No job waits (limit 1,234.125/s)"
    assert no_job_waits(Capacity(2.125, Limit.RATE, True)) == "No job waits (limit 2.125/s)"
    assert no_job_waits(Capacity(100 / 7, Limit.WORKERS, True)) == "No job waits (the workers do 14/s)"
    assert no_job_waits(Capacity(10 / 7, Limit.WORKERS, True)) == "No job waits (the workers do 1.43/s)"
