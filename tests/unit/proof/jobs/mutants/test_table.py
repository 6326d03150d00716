from __future__ import annotations

from operator import attrgetter

import pytest

from proof.code_mutant import CodeMutant, ValueMutant
from proof.jobs.mutants.table import MUTANTS
from proof.mutant import Mutant
from proof.virtual_time import sources


@pytest.mark.parametrize("mutant", MUTANTS, ids=attrgetter("name"))
def test_each_mistake_can_be_made(mutant: CodeMutant | ValueMutant | Mutant) -> None:
    match mutant:
        case CodeMutant():
            assert mutant.changes()
        case ValueMutant():
            with mutant.made():
                pass
        case Mutant():
            assert [source for source in sources() if mutant.change(source) != source]


def test_no_two_mistakes_are_the_same() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) > 140
    texts = [(mutant.right, mutant.wrong) for mutant in MUTANTS if isinstance(mutant, CodeMutant | Mutant)]
    assert len(texts) == len(set(texts)) + 1, "one text stands in two modules"
