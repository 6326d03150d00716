"""A Redis server that does not answer for a while, as when its disk or its machine stands still."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from delayhub.local.redis_server import RedisServer


@contextmanager
def stalled(server: RedisServer) -> Iterator[None]:
    """The server's process stands still until the block ends; its connections stay open."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)
