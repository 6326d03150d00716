from __future__ import annotations

from operator import attrgetter

import pytest

from proof.code_mutant import CodeMutant, ValueMutant
from proof.jobs.mutants.table import MUTANTS, ON_POSTGRESQL, JobMutant
from proof.mutant import Mutant
from proof.statement_mutant import StatementMutant, statements
from proof.virtual_time import sources

ALL = [*MUTANTS, *ON_POSTGRESQL]


@pytest.mark.parametrize("mutant", ALL, ids=attrgetter("name"))
def test_each_mistake_can_be_made(mutant: JobMutant) -> None:
    match mutant:
        case CodeMutant():
            assert mutant.changes()
        case ValueMutant():
            with mutant.made():
                pass
        case StatementMutant():
            assert [text for text in statements() if mutant.right in text]
        case Mutant():
            assert [source for source in sources() if mutant.change(source) != source]


def test_no_two_mistakes_are_the_same() -> None:
    assert len({mutant.name for mutant in ALL}) == len(ALL) > 160
    texts = [(mutant.right, mutant.wrong) for mutant in ALL if not isinstance(mutant, ValueMutant)]
    assert len(texts) == len(set(texts)) + 1, "one text stands in two modules"
