"""A client for runs that speak to one server by one connection, which never breaks."""

from __future__ import annotations

import socket
from typing import Any

import hiredis
import redis
from redis.connection import DefaultParser

#: Bytes that one read of the connection takes at most.
_READ_BYTES = 65_536


class QuickRedis(redis.Redis):
    """redis-py's client with a socket of its own in the place of pool, tries again and figures.

    Those were most of what a call of a script cost.

    Args:
        port: the server's, on this machine.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port=port, protocol=2)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._replies = hiredis.Reader(replyError=DefaultParser.parse_error)
        #: Commands that travel with the next one, and whose replies nobody needs.
        self._along: list[tuple[Any, ...]] = []
        #: How many commands were sent.
        self.sent = 0

    def send_along(self, *command: Any) -> None:
        """Sends a command with the next one, before it."""
        self._along.append(command)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply."""
        along, self._along = self._along, []
        self.sent += 1
        name, *rest = args
        sent = hiredis.pack_command((*name.split(), *rest))  # a name may be of two words
        if along:
            sent = b"".join([*map(hiredis.pack_command, along), sent])
        self._socket.sendall(sent)
        for _ in along:
            self._read()
        reply = self._read()
        if isinstance(reply, redis.RedisError):
            raise reply
        if name not in self.response_callbacks:
            return reply
        options.pop("keys", None)  # as redis-py does: it is for caches
        return self.response_callbacks[name](reply, **options)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()
        super().close()

    def _read(self) -> Any:
        while (reply := self._replies.gets()) is False:
            self._replies.feed(self._socket.recv(_READ_BYTES))
        return reply

    def pipeline(self, *args: Any, **options: Any) -> Any:
        """redis-py's own, which has another connection."""
        self.send_what_waits()
        self.sent += 1
        return super().pipeline(*args, **options)

    def send_what_waits(self) -> None:
        """Sends what was to travel with the next command, where another connection has that."""
        if self._along:
            self.execute_command("PING")
