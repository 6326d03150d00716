"""Unit tests leave nothing that runs: it would go on beside all other tests of their process."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

#: Has no end by its nature; its tests let it wait for good.
ENDLESS = "delayhub-keeper"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not {name for name in left if name.startswith("delayhub-") and name != ENDLESS}
