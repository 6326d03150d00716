"""LastClaim: when Redis last answered a claim of timers, to this process or to the parent of a prefork pool's child."""

from __future__ import annotations

import mmap
import struct
import time

_SECONDS = struct.Struct("d")


class LastClaim:
    """A moment in memory that a process shares with the children that it forks.

    Only a worker's main process claims; its children deliver what came of that.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SECONDS.size)

    def note(self) -> None:
        """A claim of timers was answered now."""
        _SECONDS.pack_into(self._memory, 0, time.monotonic())

    @property
    def at(self) -> float:
        """When that was, in monotonic seconds, which all processes of a machine count alike; 0 for never."""
        at: float = _SECONDS.unpack_from(self._memory, 0)[0]
        return at


#: That of this process and its children.
last_claim = LastClaim()
