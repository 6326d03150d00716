from datetime import UTC, datetime, timedelta, timezone

import pytest

from delayhub.engine import EngineOptions, Entry, Gate, SystemClock, due_ms
from delayhub.engine.entry import MAX_DUE_MS
from delayhub.errors import EntryError, OptionError


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), 1_767_225_600_000),
        # part of a millisecond is rounded up: nothing is early
        (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), 1_767_225_600_001),
        (datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC), 1_767_225_600_001),
        # the zone counts
        (datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 1_767_225_600_000),
        # beyond 2^31 seconds
        (datetime(2050, 1, 1, tzinfo=UTC), 2_524_608_000_000),
    ],
)
def test_a_moment_becomes_whole_milliseconds(moment: datetime, expected: int) -> None:
    assert due_ms(moment) == expected


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        due_ms(datetime(2026, 1, 1))  # noqa: DTZ001  that is the point


@pytest.mark.parametrize(
    ("entry_id", "due", "message"),
    [
        ("", 0, "needs an id"),
        ("x" * 513, 0, "may have 512 bytes, got 513"),
        # bytes count, not characters
        ("☃" * 171, 0, "may have 512 bytes, got 513"),
        ("x", MAX_DUE_MS + 1, "due_ms may be"),
    ],
)
def test_an_entry_that_cannot_be_stored_is_refused(entry_id: str, due: int, message: str) -> None:
    with pytest.raises(EntryError, match=message):
        Entry(entry_id, due)


@pytest.mark.parametrize("step", [-1, 10])
def test_a_priority_step_that_no_claim_would_look_at_is_refused(step: int) -> None:
    with pytest.raises(EntryError, match=f"step may be 0 to 9, got {step}"):
        Entry("x", step=step)


def test_the_longest_id_and_the_latest_time_are_taken() -> None:
    assert Entry("x" * 512, MAX_DUE_MS).due_ms == MAX_DUE_MS


def test_an_option_out_of_range_is_named_with_its_value() -> None:
    with pytest.raises(OptionError, match="lease_seconds must be positive, got -1"):
        EngineOptions(lease_seconds=-1)
    with pytest.raises(OptionError, match="rate_per_second must be positive, got 0"):
        Gate(rate_per_second=0)


def test_the_system_clock_gives_unix_milliseconds() -> None:
    assert SystemClock().now_ms() > due_ms(datetime(2026, 1, 1, tzinfo=UTC))
    assert SystemClock().monotonic() <= SystemClock().monotonic()
