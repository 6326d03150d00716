"""A descriptor that any thread can make readable, so that an event loop takes a turn."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

#: What is written: the counter of an eventfd goes up by one; in a pipe it is just some bytes.
_ONE = (1).to_bytes(8, sys.byteorder)


class Nudge:
    """Given by any thread, taken by the thread that watches ``fileno``; several given before a take count as one.

    The giver first puts its work where the taker looks, then gives; the taker first takes, then looks. So no work is
    overlooked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_given = False
        self._is_closed = False
        if hasattr(os, "eventfd"):
            self._reader = self._writer = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        else:  # outside Linux
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._reader, False)
            os.set_blocking(self._writer, False)

    def fileno(self) -> int:
        """The descriptor that becomes readable."""
        return self._reader

    def give(self) -> None:
        """Makes the descriptor readable; after :meth:`close` it does nothing."""
        if self._is_given:
            return
        with self._lock:
            # After close the number may be another connection's, and these bytes would be read as a command.
            if not self._is_closed:
                self._is_given = True
                os.write(self._writer, _ONE)

    def take(self) -> None:
        """Makes the descriptor unreadable again."""
        self._is_given = False  # first: a nudge given from here on is either read here or makes it readable again
        with suppress(BlockingIOError):  # nothing was given
            os.read(self._reader, 4096)

    def close(self) -> None:
        """Closes the descriptor; a second time does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            os.close(self._reader)
            if self._writer != self._reader:
                os.close(self._writer)
