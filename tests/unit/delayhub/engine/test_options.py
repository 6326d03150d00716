"""The engine's options: what cannot work is refused where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.engine import EngineOptions
from delayhub.errors import OptionError


@pytest.mark.parametrize("name", ["lease_seconds", "max_strikes", "max_claim_bytes", "slot_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_an_option_that_is_not_positive_is_named_with_its_value(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}

    with pytest.raises(OptionError, match=f"{name} must be positive, got {value}"):
        EngineOptions(**options)


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (30.0, 30_000),
        (0.2504, 250),
        # a lease of nothing would run out at once
        (0.0001, 1),
    ],
)
def test_a_lease_is_at_least_one_whole_millisecond(seconds: float, ms: int) -> None:
    assert EngineOptions(lease_seconds=seconds).lease_ms == ms


def test_options_do_not_change_once_they_are_checked() -> None:
    with pytest.raises(AttributeError):
        EngineOptions().lease_seconds = -1  # type: ignore[misc]  # that is the point
