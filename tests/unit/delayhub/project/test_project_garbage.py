from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from delayhub.project import NEW_OBJECTS, collect_seldom


@pytest.fixture(autouse=True)
def _same_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_python_looks_less_often() -> None:
    gc.set_threshold(700, 11, 12)

    collect_seldom()

    assert gc.get_threshold()[:2] == (NEW_OBJECTS, 11)


@pytest.mark.parametrize("own", [0, 200_000])
def test_a_threshold_that_somebody_set_stays(own: int) -> None:
    gc.set_threshold(own)

    collect_seldom()

    assert gc.get_threshold()[0] == own
