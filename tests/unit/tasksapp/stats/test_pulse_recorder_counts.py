"""What a process counts, by minute, biz type and kind."""

from __future__ import annotations

import pytest

from tasksapp.stats import pulse_recorder as module
from tasksapp.stats.histogram import bucket_of
from tasksapp.stats.pulse_recorder import Ended, PulseCounts

MINUTE_MS = 60_000
NOON_MS = 1_767_268_800_000


def ended(biz_type_id: int = 1, error_class: str = "", **fields: object) -> Ended:
    values = {"is_dead": False, "lateness_ms": 5, "duration_ms": 20, **fields}
    return Ended(biz_type_id, error_class, **values)  # type: ignore[arg-type]  # of a test's own making


def by_kind(counts: PulseCounts) -> dict[tuple[int, str, str], int]:
    return {(key.biz_type_id, key.kind, key.key): count for key, count in counts.take().items()}


def test_attempts_are_counted_by_what_came_of_them() -> None:
    counts = PulseCounts()

    counts.add([ended(), ended(), ended(error_class="http.503"), ended(2, "refused", is_dead=True)], now_ms=NOON_MS)

    assert by_kind(counts) == {
        (1, "succeeded", ""): 2,
        (1, "failed", "http.503"): 1,
        (1, "lateness", str(bucket_of(5))): 3,
        (1, "duration", str(bucket_of(20))): 3,
        (1, "busy", ""): 60,
        (2, "failed", "refused"): 1,
        (2, "dead", "refused"): 1,
        (2, "lateness", str(bucket_of(5))): 1,
        (2, "duration", str(bucket_of(20))): 1,
        (2, "busy", ""): 20,
    }


def test_each_minute_has_its_own_counts() -> None:
    counts = PulseCounts()
    counts.add([ended()], now_ms=NOON_MS + MINUTE_MS - 1)
    counts.add([ended()], now_ms=NOON_MS + MINUTE_MS)

    minutes = {key.at.minute for key in counts.take()}

    assert minutes == {0, 1}


def test_what_was_taken_is_gone_and_what_is_put_back_is_there_again() -> None:
    counts = PulseCounts()
    counts.add([ended(), ended(error_class="dns")], now_ms=NOON_MS)
    counts.add_deaths([(1, "too_late")], now_ms=NOON_MS)
    taken = counts.take()
    assert counts.take() == {}

    counts.add([ended()], now_ms=NOON_MS)
    counts.put_back(taken)

    again = by_kind(counts)
    assert (again[1, "succeeded", ""], again[1, "failed", "dns"], again[1, "dead", "too_late"]) == (2, 1, 1)
    assert again[1, "lateness", str(bucket_of(5))] == 3


def test_while_the_database_is_away_the_oldest_minutes_are_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MOST_COUNTERS", 10)
    counts = PulseCounts()
    for minute in range(4):
        counts.add([ended()], now_ms=NOON_MS + minute * MINUTE_MS)  # four counters each

    counts.put_back(counts.take())

    assert {key.at.minute for key in counts.take()} == {2, 3}
    assert "the numbers of a minute are lost" in caplog.text
