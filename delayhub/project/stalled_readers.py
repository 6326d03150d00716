"""Cut off clients that stop reading: web servers have no deadline for that, and keep a thread or memory for each."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.signals import request_started

#: Where Linux lists the descriptors of this process.
_DESCRIPTORS = Path("/proc/self/fd")


def cut_off_stalled_readers(seconds: int) -> None:
    """Let the kernel end connections whose client has read nothing for so long, from the first request on.

    Some servers listen only after they have loaded the application, so that it cannot be done earlier.

    Args:
        seconds: how long; 0 for no end.
    """

    def first(**_: Any) -> None:
        request_started.disconnect(first)
        bound_unread_time(seconds)

    if seconds:
        request_started.connect(first, weak=False)


def bound_unread_time(seconds: int) -> int:
    """Set the time on all TCP sockets at which this process listens; return how many there are.

    Connections that they accept from then on have it (``TCP_USER_TIMEOUT``, tcp(7)). Linux counts a client whose window
    stays shut as one that acknowledges nothing. Other systems have no such option, and nothing is set.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is None or not _DESCRIPTORS.is_dir():
        return 0
    found = 0
    for each in _DESCRIPTORS.iterdir():
        # It may be closed by now, as that of the list itself is.
        with suppress(OSError):
            found += _set(int(each.name), option, seconds * 1_000)
    return found


def _set(descriptor: int, option: int, value: int) -> bool:
    # Only sockets are copied. To close a copy of a file's descriptor takes away the locks that this process has on the
    # file, and those of SQLite are what keeps two processes from writing its file at once.
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as sock:
        is_tcp = sock.family in {socket.AF_INET, socket.AF_INET6} and sock.type == socket.SOCK_STREAM
        if not is_tcp or not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return False
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
        return True
