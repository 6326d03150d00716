"""Publishing that waits until replicas have it too (Redis' WAIT)."""

from __future__ import annotations

from typing import Any

import redis
from kombu.log import get_logger

from delayhub.errors import NotReplicated
from delayhub.redis_cluster import client_of

logger = get_logger(__name__)


class ReplicatedClient(redis.Redis):
    """A client whose every command is followed by a WAIT on the same connection, in a cluster that of the key's node.

    Args:
        pool: where its connections come from.
        replicas: how many must have what a command writes.
        milliseconds: how long to wait for them.
        only_warns: too few replicas are logged, and no error.
    """

    def __init__(
        self, pool: redis.ConnectionPool, *, replicas: int, milliseconds: int, only_warns: bool = False
    ) -> None:
        super().__init__(connection_pool=pool)
        self.inner = client_of(pool)
        self.replicas = replicas
        self.milliseconds = milliseconds
        self.only_warns = only_warns

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """The command's reply.

        Raises:
            NotReplicated: the command was done, but too few replicas said in time that they have it.
        """
        pipeline: Any
        with self.inner.pipeline(transaction=False) as pipeline:
            pipeline.execute_command(*args, **options)
            pipeline.execute_command("WAIT", self.replicas, self.milliseconds)
            reply, reached = pipeline.execute(raise_on_error=False)
        for answer in (reply, reached):
            if isinstance(answer, Exception):
                raise answer
        if reached < self.replicas:
            missing = NotReplicated(reached, self.replicas)
            if not self.only_warns:
                raise missing
            logger.warning("%s", missing, extra={"action": "publish"})
        return reply
