"""Times and durations as people write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from delayhub.cli import times
from delayhub.cli.times import duration, moment, relative, shown
from delayhub.errors import OptionError

NOW = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("30m", 1800), ("1h30m", 5400), ("2d", 172_800), ("1w", 604_800), ("1H 5s", 3605)],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-5m", "5 minutes", "m", "30m1h", "9" * 30, "1e3"])
def test_another_text_is_no_duration(text: str) -> None:
    with pytest.raises(OptionError):
        duration(text)


def test_a_time_is_absolute_or_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "now", lambda: NOW)

    assert moment("+2h") == NOW + timedelta(hours=2)
    assert moment("-90") == NOW - timedelta(seconds=90)
    assert moment("2027-01-31T09:30+01:00") == NOW
    # Without a zone, the machine's own is meant.
    assert moment("2027-01-31T09:00") == datetime(2027, 1, 31, 9).astimezone()


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "+", "+soon", "2027-13-01", "0001-01-01T00:00+14:00x", "+9999999d", "-9999999d"]
)
def test_another_text_is_no_time(text: str) -> None:
    with pytest.raises(OptionError):
        moment(text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "now"),
        (29, "in 29 s"),
        (-41, "41 s ago"),
        (1740, "in 29 min"),
        (-10_800, "3 h ago"),
        (2_591_990, "in 30 d"),
    ],
)
def test_a_distance_is_said_in_the_unit_in_which_it_is_best_read(seconds: float, said: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), as_of=NOW) == said


def test_a_time_is_shown_in_this_machines_zone() -> None:
    local = NOW.astimezone()

    assert shown(NOW, as_of=NOW) == f"{local:%Y-%m-%d %H:%M:%S} (now)"
    assert shown(None) == "-"
