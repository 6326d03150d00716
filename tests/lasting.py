"""What is dear to start and left as it was by each test: one for tests of several modules, one after another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, TypeVar

import pytest

T = TypeVar("T")


class Lasting(Generic[T]):
    """At most one in a process, for as long as the next test wants it: it would be busy with doing nothing.

    Args:
        fixture: the name of the fixture that gives it, one of :data:`tests.long_first.LASTING`.
    """

    def __init__(self, fixture: str) -> None:
        self.fixture = fixture
        self._open = ExitStack()
        self._found: list[T] = []

    def begun(self, make: Callable[[], AbstractContextManager[T]]) -> T:
        """The one that there is; else what is made is opened."""
        if not self._found:
            self._found.append(self._open.enter_context(make()))
        return self._found[0]

    def end_before(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Ends it after a test, unless the next one wants it, too, or is of the same module, which has its fixture."""
        is_wanted = self.fixture in getattr(nextitem, "fixturenames", ())
        if self._found and not is_wanted and (nextitem is None or nextitem.path != item.path):
            self._found.clear()
            self._open.close()
