"""What claims may take from a biz type's timer queue: its limits, its pauses, and the ramp after each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delayhub.clock import due_ms
from delayhub.engine import Gate
from tasksapp.biz_types.breaker import Breaker
from tasksapp.biz_types.gates import gate_of
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.timers.ramp import RAMP_FIRST_PER_SECOND, RAMP_SECONDS

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def biz_type(**fields: Any) -> BizType:
    return BizType(id=1, code="order.close", **fields)


def seconds_ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def test_a_biz_type_without_limits_lets_everything_through() -> None:
    assert gate_of(biz_type(), now=NOW) == Gate(weight=1)


def test_its_limits_are_the_gates() -> None:
    limited = biz_type(delivery_rate=5.0, delivery_burst=3, max_in_flight=7, weight=2)

    assert gate_of(limited, now=NOW) == Gate(rate_per_second=5.0, burst=3, max_in_flight=7, weight=2)


@pytest.mark.parametrize(
    ("fields", "shut_until"),
    [
        ({"enabled": False}, UNTIL_RESUMED),
        ({"paused_until": UNTIL_RESUMED}, UNTIL_RESUMED),
        ({"paused_until": NOW + timedelta(hours=1)}, NOW + timedelta(hours=1)),
    ],
)
def test_a_paused_or_disabled_biz_type_is_shut_until_then(fields: dict[str, Any], shut_until: datetime) -> None:
    assert gate_of(biz_type(**fields), now=NOW).shut_until_ms == due_ms(shut_until)


@pytest.mark.parametrize(
    ("elapsed", "rate"),
    [
        (0, 50.0),
        (1.9, 50.0),
        # doubled every other second
        (2, 100.0),
        (5, 200.0),
        (19.9, 50.0 * 2**9),
        # over
        (20, None),
        (3600, None),
    ],
)
@pytest.mark.parametrize("reason", ["resumed_at", "paused_until"])
def test_after_a_pause_the_rate_begins_low_and_doubles(reason: str, elapsed: float, rate: float | None) -> None:
    gate = gate_of(biz_type(**{reason: seconds_ago(elapsed)}), now=NOW)

    assert gate.rate_per_second == rate
    assert gate.burst == (1 if rate is None else rate // 10)


def test_the_ramp_counts_from_the_last_end() -> None:
    gate = gate_of(biz_type(resumed_at=seconds_ago(10), paused_until=seconds_ago(1)), now=NOW)

    assert gate.rate_per_second == RAMP_FIRST_PER_SECOND


def test_a_lower_rate_of_its_own_stays() -> None:
    gate = gate_of(biz_type(resumed_at=NOW, delivery_rate=2.0, delivery_burst=4), now=NOW)

    assert (gate.rate_per_second, gate.burst) == (2.0, 4)


def test_a_resume_by_a_process_whose_clock_is_ahead_begins_the_ramp_now() -> None:
    gate = gate_of(biz_type(resumed_at=NOW + timedelta(minutes=5)), now=NOW)

    assert gate.rate_per_second == RAMP_FIRST_PER_SECOND


def test_a_breaker_that_healed_begins_the_ramp_too() -> None:
    healed = Breaker(healed_ms=due_ms(seconds_ago(RAMP_SECONDS / 2)))

    assert gate_of(biz_type(), now=NOW, breaker=healed).rate_per_second == RAMP_FIRST_PER_SECOND * 2**5


def test_an_open_breaker_shuts_the_gate() -> None:
    until = due_ms(NOW + timedelta(seconds=30))

    assert gate_of(biz_type(), now=NOW, breaker=Breaker(open_until_ms=until)).shut_until_ms == until
