from __future__ import annotations

import pytest

from proof.messages.mutants import MUTANTS
from proof.mutant import Mutant
from proof.virtual_time import sources


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mistake_is_put_into_a_script(mutant: Mutant) -> None:
    built = [mutant.change(source) for source in sources()]

    assert mutant.changed
    assert set(mutant.changed) < set(built)


def test_no_two_mistakes_are_the_same() -> None:
    assert len({(mutant.right, mutant.wrong) for mutant in MUTANTS}) == len(MUTANTS) > 60
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
