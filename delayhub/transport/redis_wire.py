"""A connection to Redis that the event loop watches, and the requests under way on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError, ResponseError

from delayhub.engine.scripts import Script

#: Commands sent together: each with the script it runs (None: not a script).
Command = tuple[Script | None, tuple[Any, ...]]


class RedisWire:
    """One connection taken from a pool, used without waiting: commands are sent now, replies are read when they come.

    Args:
        pool: where the connection comes from.
    """

    def __init__(self, pool: redis.ConnectionPool) -> None:
        self.pool = pool
        self.connection: Any = None
        self.sent: list[Command] = []
        self.sent_at = 0.0

    @property
    def socket(self) -> Any:
        """The connected socket, or None."""
        return getattr(self.connection, "_sock", None)

    def connect(self) -> Any:
        """A connected socket; commands that were under way on an earlier one are forgotten."""
        if self.connection is None:
            self.connection = self.pool.get_connection()
        if self.socket is None:
            self.sent = []
            self.connection.connect()
        return self.socket

    def send(self, commands: Sequence[Command], *, at: float) -> None:
        """Sends the commands in one write."""
        self.connection.send_packed_command(self.connection.pack_commands([command for _, command in commands]))
        self.sent = list(commands)
        self.sent_at = at

    def receive(self) -> list[Any]:
        """The replies of all commands sent; an error that Redis answered stands in its command's place.

        A script that Redis does not know (flushed, failed over) is sent again with its source. Where nothing was sent
        there are no replies, and a connection that the other side closed meanwhile raises redis' ConnectionError.
        """
        if not self.sent:
            self.connection.can_read(timeout=0)
            return []
        commands, self.sent = self.sent, []
        replies = [self._reply() for _ in commands]
        for number, (script, command) in enumerate(commands):
            if isinstance(replies[number], NoScriptError) and script is not None:
                self.connection.send_command("EVAL", script.source, *command[2:])
                replies[number] = self._reply()
        return replies

    def close(self) -> None:
        """Drops the connection."""
        connection, self.connection, self.sent = self.connection, None, []
        if connection is not None:
            connection.disconnect()

    def _reply(self) -> Any:
        try:
            return self.connection.read_response()
        except ResponseError as error:
            return error
