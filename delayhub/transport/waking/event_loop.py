"""What the transport uses of the event loop that kombu brings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol


class LoopTimer(Protocol):
    """A call that a loop will make."""

    def cancel(self) -> object:
        """Takes it back."""


class EventLoop(Protocol):
    """kombu's ``Hub``: it watches descriptors and makes calls at their time."""

    @property
    def readers(self) -> Collection[int]:
        """The descriptors that it watches."""

    def add_reader(self, descriptor: int, callback: Callable[..., object], *arguments: object) -> object:
        """Calls back whenever the descriptor can be read."""

    def remove(self, descriptor: int) -> object:
        """Watches a descriptor no more."""

    def call_later(self, seconds: float, callback: Callable[[], object]) -> LoopTimer:
        """Calls back once, so long from now; rounded up to the next millisecond."""

    def call_repeatedly(self, seconds: float, callback: Callable[[], object]) -> LoopTimer:
        """Calls back again and again, with so long between."""
