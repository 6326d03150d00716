"""ParsingTurns: how long answers may be parsed in one turn of the event loop, all connections together."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from delayhub.clock import Clock, SystemClock

#: What parsing may take of one turn. A thousand connections may have something to parse in the same turn; each callback
#: that is to be sent then waits for all of them, in each of the three or four turns that it needs.
TURN_SECONDS = 0.005


class Parses(Protocol):
    """A connection whose data waits to be parsed."""

    def parse_slice(self) -> bool: ...

    def resume(self) -> None: ...


class ParsingTurns:
    """Gives each turn of the loop its time for parsing; what has no room waits for the next, in a circle.

    Args:
        loop: the event loop.
        clock: tells the time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, clock: Clock | None = None) -> None:
        self._loop = loop
        self._monotonic = (clock or SystemClock()).monotonic
        self._has_begun = False
        self._ends = 0.0
        self._waiting: deque[Parses] = deque()

    def has_time(self) -> bool:
        """Whether more may be parsed in this turn; the first to ask may in any case."""
        if self._has_begun:
            return self._monotonic() < self._ends
        self._has_begun = True
        self._ends = self._monotonic() + TURN_SECONDS
        self._loop.call_soon(self._begin_next)
        return True

    def wait(self, connection: Parses) -> None:
        """Lets a connection wait for a later turn; it reads on when all it has is parsed."""
        self._waiting.append(connection)

    def _begin_next(self) -> None:
        self._has_begun = False
        while self._waiting and self.has_time():
            connection = self._waiting.popleft()
            if connection.parse_slice():
                self._waiting.append(connection)
            else:
                connection.resume()
