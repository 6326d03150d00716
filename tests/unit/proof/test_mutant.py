from __future__ import annotations

from functools import cache

import pytest

from delayhub.engine.scripts import names, script
from proof.messages.mutants import MUTANTS
from proof.mutant import Mutant
from proof.virtual_time import virtual_time


@cache
def sources() -> list[str]:
    """What a mutant is asked to change: the source of each script, as it is written."""
    asked: list[str] = []

    def hear(source: str) -> str:
        asked.append(source)
        return source

    with virtual_time(hear):
        for name in names():
            script(name)
    assert len(asked) == len(names())
    return asked


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mistake_is_put_into_a_script(mutant: Mutant) -> None:
    built = [mutant.change(source) for source in sources()]

    assert mutant.changed
    assert set(mutant.changed) < set(built)


def test_no_two_mistakes_are_the_same() -> None:
    assert len({(mutant.right, mutant.wrong) for mutant in MUTANTS}) == len(MUTANTS) > 60
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
