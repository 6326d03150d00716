"""After a pause the rate begins small and doubles, up to what the biz type may have."""

from __future__ import annotations

import pytest

from tasksapp.timers.ramp import RAMP_FIRST_PER_SECOND, RAMP_SECONDS, ramp_paces, ramp_per_second


@pytest.mark.parametrize(("elapsed", "rate"), [(0.0, 50.0), (1.9, 50.0), (2.0, 100.0), (19.9, 25_600.0), (20.0, None)])
def test_the_ramp_doubles_every_other_second_and_ends(elapsed: float, rate: float | None) -> None:
    assert ramp_per_second(elapsed) == rate


def test_paces_rise_to_the_rate_of_the_biz_type() -> None:
    assert list(ramp_paces(180.0)) == [(0.0, 50.0), (2.0, 100.0), (4.0, 180.0)]
    assert list(ramp_paces(RAMP_FIRST_PER_SECOND / 2)) == [(0.0, 25.0)]
    assert list(ramp_paces(1e9))[-1] == (RAMP_SECONDS, 1e9)
