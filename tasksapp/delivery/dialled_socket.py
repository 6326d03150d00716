"""DialledSocket: a socket that closes its own descriptor only, and never one that has been given to another file."""

from __future__ import annotations

import os
import socket
from typing import Any


class DialledSocket(socket.socket):
    """A socket for a connection to a receiver.

    uvloop (0.23) closes the descriptor of a connection that its peer resets while TLS begins, and then keeps the socket
    object, which closes the same number once more when it is collected. By then the number may belong to another
    callback, or to a connection to the database. So this socket remembers which file it opened, and leaves any other.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = _file_of(self.fileno())

    def close(self) -> None:
        """Closes the socket, if its descriptor is still its own."""
        if not self._is_own():
            self.detach()
        super().close()

    def __del__(self) -> None:
        if self.fileno() < 0:
            return
        if self._is_own():
            os.close(self.detach())
        else:
            self.detach()

    def _is_own(self) -> bool:
        return self.fileno() >= 0 and _file_of(self.fileno()) == getattr(self, "_file", None)


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """Device and inode of an open file; None where the descriptor is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
