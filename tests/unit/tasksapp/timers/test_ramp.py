"""After a pause the rate begins small and doubles, up to what the biz type may have."""

from __future__ import annotations

import pytest

from tasksapp.timers.ramp import ramp_per_second


@pytest.mark.parametrize(("elapsed", "rate"), [(0.0, 50.0), (1.9, 50.0), (2.0, 100.0), (19.9, 25_600.0), (20.0, None)])
def test_the_ramp_doubles_every_other_second_and_ends(elapsed: float, rate: float | None) -> None:
    assert ramp_per_second(elapsed) == rate
