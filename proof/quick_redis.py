"""A client for runs that speak to one server by one connection, which never breaks."""

from __future__ import annotations

from typing import Any

import redis


class QuickRedis(redis.Redis):
    """redis-py's client without its pool, tries again and figures: these were most of what a call of a script cost.

    Args:
        port: the server's, on this machine.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port=port, protocol=2, single_connection_client=True)
        #: Commands that travel with the next one, and whose replies nobody needs.
        self._along: list[tuple[Any, ...]] = []
        #: How many commands were sent.
        self.sent = 0

    def send_along(self, *command: Any) -> None:
        """Sends a command with the next one, before it."""
        self._along.append(command)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply."""
        connection: Any = self.connection
        along, self._along = self._along, []
        self.sent += 1
        packed = connection.pack_commands([*along, args]) if along else connection.pack_command(*args)
        connection.send_packed_command(packed, check_health=False)
        for command in along:
            self.parse_response(connection, command[0])
        return self.parse_response(connection, args[0], **options)

    def pipeline(self, *args: Any, **options: Any) -> Any:
        """redis-py's own, which has another connection."""
        self.send_what_waits()
        self.sent += 1
        return super().pipeline(*args, **options)

    def send_what_waits(self) -> None:
        """Sends what was to travel with the next command, where another connection has that."""
        if self._along:
            self.execute_command("PING")
