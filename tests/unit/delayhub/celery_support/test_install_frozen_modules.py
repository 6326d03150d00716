"""What is there when a worker is ready is not collected any more; what its tasks make later is."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from delayhub.celery_support.install import FreezeModules


class Ring:
    """An object in a ring, which only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def own_garbage() -> Iterator[None]:
    """What the runner froze is frozen again."""
    gc.disable()
    yield
    gc.unfreeze()
    gc.freeze()
    gc.enable()


def visited() -> int:
    """Objects that a full collection walks over."""
    return len(gc.get_objects())


def test_a_worker_that_is_made_leaves_out_what_its_children_will_share() -> None:
    loaded = [[] for _ in range(10_000)]

    FreezeModules(None)

    assert visited() < len(loaded)


def test_a_worker_that_is_ready_frees_rings_and_leaves_out_what_has_come_since() -> None:
    step = FreezeModules(None)
    ring = weakref.ref(Ring())
    loaded = [[] for _ in range(10_000)]

    step.start(None)

    assert ring() is None
    assert visited() < len(loaded)


def test_a_reconnect_freezes_nothing_that_is_on_its_way() -> None:
    step = FreezeModules(None)
    step.start(None)
    ring = weakref.ref(Ring())

    step.start(None)
    assert ring() is not None
    gc.collect()

    assert ring() is None
