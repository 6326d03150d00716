"""A client for runs that speak to one server by one connection, which never breaks."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import hiredis
import redis
from redis.connection import DefaultParser

#: Bytes that one read of the connection takes at most.
_READ_BYTES = 65_536
#: Commands that run a script.
_SCRIPTS = ("EVALSHA", "EVAL")


class QuickRedis(redis.Redis):
    """redis-py's client with a socket of its own in the place of pool, tries again and figures.

    Those were most of what a call of a script cost. The way there and back was next, so commands can travel together.

    Args:
        port: the server's, on this machine.
        path: its Unix socket, which is quicker, where it has one.
    """

    def __init__(self, port: int, path: Path | None = None) -> None:
        super().__init__(port=port, protocol=2)
        if path:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(path))
        else:
            self._socket = socket.create_connection(("127.0.0.1", port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._reader = hiredis.Reader(replyError=DefaultParser.parse_error)
        #: How many commands were sent, without those that travel behind scripts.
        self.sent = 0
        #: Commands that travel with the next one, and whose replies nobody needs.
        self._along: list[tuple[Any, ...]] = []
        #: The command sent behind each script, its replies not taken yet, and the value of `sent` at the last of them.
        self._behind: tuple[Any, ...] = ()
        self._replies_behind: list[Any] = []
        self._sent_at_behind = 0

    def send_along(self, *command: Any) -> None:
        """Sends a command with the next one, before it."""
        self._along.append(command)

    def send_behind(self, *command: Any) -> None:
        """Sends a command with each script from now on, behind it."""
        self._behind, self._replies_behind = command, []

    def take_behind(self) -> list[Any]:
        """The replies not taken yet to the command behind scripts; the last one was made after all that was sent."""
        if self._sent_at_behind != self.sent:
            self._replies_behind.append(self._exchange(self._behind))
        taken, self._replies_behind = self._replies_behind, []
        return taken

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply."""
        self.sent += 1
        name, *rest = args
        if self._behind and name in _SCRIPTS:
            reply = self._exchange(args, self._behind)
            self._replies_behind.append(self._read())
            self._sent_at_behind = self.sent
        else:
            reply = self._exchange((*name.split(), *rest))  # a name may be of two words
        if isinstance(reply, redis.RedisError):
            raise reply
        if name in _SCRIPTS or name not in self.response_callbacks:
            return reply
        options.pop("keys", None)  # as redis-py does: it is for caches
        return self.response_callbacks[name](reply, **options)

    def _exchange(self, *commands: tuple[Any, ...]) -> Any:
        """Sends commands, and what travels along; the reply to the first of them."""
        along, self._along = self._along, []
        self._socket.sendall(b"".join(map(hiredis.pack_command, (*along, *commands))))
        for _ in along:
            self._read()
        return self._read()

    def _read(self) -> Any:
        while (reply := self._reader.gets()) is False:
            if not (read := self._socket.recv(_READ_BYTES)):
                raise redis.ConnectionError("the server has ended the connection")
            self._reader.feed(read)
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

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()
        super().close()
