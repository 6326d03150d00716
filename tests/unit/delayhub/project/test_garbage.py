from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from delayhub.project.garbage import NEW_OBJECTS, collect_as_usual, collect_rarely


@pytest.fixture(autouse=True)
def _same_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_start_collects_rarely_and_what_follows_as_usual() -> None:
    gc.set_threshold(700, 11, 12)

    collect_rarely()
    assert gc.get_threshold()[:2] == (NEW_OBJECTS, 11)
    collect_as_usual()

    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("own", [0, 200_000])
def test_a_threshold_that_was_set_before_stays(own: int) -> None:
    gc.set_threshold(own)

    collect_rarely()
    collect_as_usual()

    assert gc.get_threshold()[0] == own
