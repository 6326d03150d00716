"""Publishing that waits until replicas have it too (Redis' WAIT)."""

from __future__ import annotations

from typing import Any

import redis

from delayhub.errors import NotReplicated


class ReplicatedClient(redis.Redis):
    """A client whose every command is followed by a WAIT on the same connection.

    Args:
        pool: where its connections come from.
        replicas: how many must have what a command writes.
        milliseconds: how long to wait for them.
    """

    def __init__(self, pool: redis.ConnectionPool, *, replicas: int, milliseconds: int) -> None:
        super().__init__(connection_pool=pool)
        self.replicas = replicas
        self.milliseconds = milliseconds

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply.

        Raises:
            NotReplicated: the command was done, but too few replicas said in time that they have it.
        """
        pipeline: Any
        with self.pipeline(transaction=False) as pipeline:
            pipeline.execute_command(*args, **options)
            pipeline.execute_command("WAIT", self.replicas, self.milliseconds)
            reply, reached = pipeline.execute(raise_on_error=False)
        if isinstance(reply, Exception):
            raise reply
        if reached < self.replicas:
            raise NotReplicated(reached, self.replicas)
        return reply
