"""The bell: a blocking pop that makes the event loop claim again. It only wakes the loop; it is no clock."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from delayhub.engine import LaneKeys
from delayhub.transport.redis_wire import RedisWire

#: Seconds after which Redis answers a bell that did not ring; bounds how long a half-open connection goes unnoticed.
TIMEOUT_SECONDS = 30


class Bell:
    """Waits for the bells of some lanes on a connection of its own."""

    def __init__(self, pool: redis.ConnectionPool, key_prefix: str) -> None:
        self.wire = RedisWire(pool)
        self.key_prefix = key_prefix
        self.lanes: list[str] = []
        #: The lane that rang last.
        self.rung = ""
        #: Seconds after which Redis answers where it did not ring.
        self.seconds = TIMEOUT_SECONDS

    @property
    def is_listening(self) -> bool:
        """Whether it waits for bells."""
        return bool(self.wire.sent) and self.wire.socket is not None

    def listen(self, lanes: Sequence[str], *, at: float) -> None:
        """Waits for any of the lanes' bells, unless it does already.

        Raises:
            redis.ConnectionError: the server cannot be reached.
        """
        if self.wire.sent and list(lanes) == self.lanes and self.wire.socket is not None:
            return
        if self.wire.sent:
            # A pop for other lanes is under way: only a new connection takes it back.
            self.wire.close()
        self.wire.connect()
        self.lanes = list(lanes)
        keys = [LaneKeys(lane, self.key_prefix).wake for lane in lanes]
        self.wire.send([(None, ("BLPOP", *keys, self.seconds))], at=at)

    def rang(self) -> bool:
        """Whether the reply that came was a ring, and not the end of the wait. Raises what Redis answered instead."""
        (reply,) = self.wire.receive()
        if isinstance(reply, Exception):
            raise reply
        if reply is None:
            return False
        names = {LaneKeys(lane, self.key_prefix).wake: lane for lane in self.lanes}
        self.rung = names[reply[0].decode()]
        return True

    def end(self) -> bool:
        """Stop listening. Return True if it rang, which has woken no consumer yet."""
        try:
            return self.is_listening and self.wire.connection.can_read(timeout=0) and self.rang()
        except (redis.RedisError, OSError):
            return False
        finally:
            self.wire.close()
