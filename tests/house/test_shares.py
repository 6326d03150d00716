"""However many processes a run has, each test is collected by all processes of one share, and by no others."""

from __future__ import annotations

import pytest

from tests.long_first import LASTING
from tests.repository import ROOT, text_of
from tests.shares import is_left_to_others, is_long, size_of_share

FILES = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 5, 6, 8, 12, 16])
def test_each_file_is_collected_by_as_many_processes_as_its_share_has(processes: int) -> None:
    names = [f"gw{number}" for number in range(processes)]
    for path in FILES:
        having = [name for name in names if not is_left_to_others(path, process=name, processes=processes)]

        assert having != []
        assert {size_of_share(name, processes) for name in having} == {len(having)}


def test_most_files_are_of_those_that_compute() -> None:
    waiting = [path for path in FILES if is_long(path)]

    assert len(FILES) > 10 * len([path for path in waiting if "integration" in path.parts])
    assert ROOT / "tests/acceptance/test_kills.py" in waiting
    assert ROOT / "tests/unit/tasksapp/jobs/test_verbs.py" not in waiting


def test_what_lasts_over_modules_keeps_its_tests_together() -> None:
    conftests = [path for path in (ROOT / "tests").rglob("conftest.py") if "] = Lasting(" in text_of(path)]

    for name in LASTING:
        (own,) = [path for path in conftests if f'Lasting("{name}")' in text_of(path)]
        assert f"def {name}(" in text_of(own)
        assert ".end_before(item, nextitem)" in text_of(own)
