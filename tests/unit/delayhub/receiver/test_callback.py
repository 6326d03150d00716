"""What a callback says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from delayhub.receiver import ReceivedCallback


def callback(**headers: str) -> ReceivedCallback:
    return ReceivedCallback(
        "job-1", 1, b"{}", {f"delayhub-{name.replace('_', '-')}": headers[name] for name in headers}
    )


def test_a_redrive_has_a_key_of_its_own_unless_redrives_do_not_count() -> None:
    assert callback().key() == callback(redrive="0").key() == "job-1"
    assert callback(redrive="2").key() == "job-1:2"
    assert callback(redrive="2").key(count_redrives=False) == "job-1"


@pytest.mark.parametrize("value", ["-1", "x", "1" * 10, "٣"])
def test_a_number_that_is_none_counts_for_nothing(value: str) -> None:
    assert callback(redrive=value).key() == "job-1"
    assert callback(attempt=value).attempt == 1


def test_the_other_headers_are_read() -> None:
    found = callback(biz_type="order.close", test="1", due_at="2026-01-02T03:04:05.678Z")

    assert (found.biz_type, found.is_test) == ("order.close", True)
    assert found.due_at == datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    assert callback().due_at is None
