"""SPIN says of each model what it has to: the property holds, and with a mistake in the model it does not."""

from __future__ import annotations

import pytest

from proof.model.checking import CHECKS, Check, verdict

#: One of each model that holds, and all that must not; ``make simulate`` checks the others too.
FEW = [
    check
    for check in CHECKS
    if not check.holds
    or (
        not check.variant
        and check.property in {"nothing_after_cancel", "a_place_is_kept", "nothing_fires_after_a_resolve"}
    )
]


def test_each_model_is_among_the_few() -> None:
    assert {check.model for check in FEW if check.holds} == {check.model for check in CHECKS}


#: That of resolves has five million states: by day its two mistakes are found, and its traces played.
OF_MANY_STATES = "resolve"


def by_day(check: Check) -> pytest.ParameterSet:
    marks = [pytest.mark.nightly] if check.holds and check.model == OF_MANY_STATES else []
    return pytest.param(check, marks=marks, id=str(check))


@pytest.mark.parametrize("check", [by_day(check) for check in FEW])
def test_a_property_holds_or_is_broken_as_it_has_to_be(check: Check) -> None:
    found = verdict(check)

    assert found.holds is check.holds
    assert found.states > (100_000 if check.holds else 0)
