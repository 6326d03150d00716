"""A gate checks its numbers when it is made."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.engine.gate import Gate
from delayhub.errors import OptionError


@pytest.mark.parametrize("name", ["rate_per_second", "max_in_flight", "burst", "weight", "bonus_ms"])
def test_a_number_that_is_not_positive_is_named_with_its_value(name: str) -> None:
    given: dict[str, Any] = {name: 0}

    with pytest.raises(OptionError, match=f"{name} must be positive, got 0"):
        Gate(**given)
