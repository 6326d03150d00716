"""A connection to Redis that the event loop watches, and the requests under way on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import redis
from kombu.log import get_logger
from redis.exceptions import NoScriptError, ResponseError

from delayhub.engine.scripts import Script

logger = get_logger(__name__)

#: A command to send, and the script it runs (None: not a script).
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
        """A connected socket; commands that were under way on an earlier one are forgotten.

        Raises:
            redis.ConnectionError: the server cannot be reached.
        """
        if self.connection is None:
            self.connection = self.pool.get_connection()
        if self.socket is None:
            self.sent = []
            self.connection.connect()
        return self.socket

    def send(self, commands: Sequence[Command], *, at: float) -> None:
        """Sends the commands in one write.

        Args:
            commands: what to send.
            at: the time of the monotonic clock.

        Raises:
            redis.ConnectionError: the connection is broken.
        """
        # Without redis-py's ping before it: overdue replies are watched, and a Redis whose disk is full refuses pings.
        packed = self.connection.pack_commands([command for _, command in commands])
        self.connection.send_packed_command(packed, check_health=False)
        self.sent = list(commands)
        self.sent_at = at

    def receive(self) -> list[Any]:
        """The replies to all commands sent, none where none were; an error of Redis stands in its command's place.

        A script that Redis does not know (flushed, failed over) is sent again with its source.

        Raises:
            redis.ConnectionError: the connection is broken; also where nothing was sent.
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

    def require_reply(self, *, within: float) -> None:
        """Drops a connection whose reply is overdue after so many seconds: the other side is gone without a word.

        Raises:
            ConnectionError: the connection was dropped.
        """
        silence = time.monotonic() - self.sent_at
        if self.sent and self.connection is not None and silence > within:
            logger.warning("Redis has not answered for %.0f s; dropping the connection", silence)
            self.connection.disconnect()
            raise ConnectionError("Redis stopped answering")

    def close(self) -> None:
        """Disconnects, and gives the connection back to the pool: a pool counts those it has given out."""
        connection, self.connection, self.sent = self.connection, None, []
        if connection is not None:
            connection.disconnect()
            self.pool.release(connection)

    def _reply(self) -> Any:
        try:
            return self.connection.read_response()
        except ResponseError as error:
            return error
