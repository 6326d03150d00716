"""Which node is the master of each slot, as nodes say; learned again where one may be wrong."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS
from redis.exceptions import ResponseError

from delayhub.errors import OptionError
from delayhub.redis_cluster.refusals import NotExecuted

logger = logging.getLogger(__name__)

#: Nodes are asked again at most this often.
LEARN_SECONDS = 0.05

#: Commands whose first argument is no key. All others that we send have their key there.
KEYLESS = frozenset(
    {"ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "ECHO", "INFO", "LASTSAVE", "PING", "PUBLISH"}
) | {
    *("ROLE", "SCAN", "SCRIPT", "TIME", "WAIT"),
}


class Address(NamedTuple):
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ClusterMap:
    """The masters of a cluster.

    It takes no lock: threads that learn at the same moment do so twice, and a child process finds none held.

    Args:
        seeds: nodes to ask first.
        ask: gives a node's answer to CLUSTER SLOTS.
    """

    def __init__(self, seeds: Sequence[Address], *, ask: Callable[[Address], Any]) -> None:
        self.seeds = tuple(seeds)
        self._ask = ask
        self._masters: list[Address | None] = []
        self._nodes: tuple[Address, ...] = ()
        self._is_doubted = True
        self._learned_at = float("-inf")

    def node_of(self, slot: int) -> Address:
        """The master of a slot.

        Raises:
            NotExecuted: no node answers, or the slot has no master.
            OptionError: the server is no cluster.
        """
        if self._is_doubted and (not self._masters or time.monotonic() >= self._learned_at + LEARN_SECONDS):
            self.learn()
        found = self._masters[slot]
        if found is None:
            self.doubt()
            raise NotExecuted(f"no node of the cluster serves slot {slot}")
        return found

    def masters(self) -> list[Address]:
        """All masters that serve slots, asked for now. Raises what :meth:`node_of` does."""
        self.learn()
        return sorted({found for found in self._masters if found is not None})

    def missing_slots(self) -> int:
        """How many slots had no master when the map was learned."""
        return sum(found is None for found in self._masters)

    def doubt(self) -> None:
        """The map may be wrong: it is learned again before it is used again."""
        self._is_doubted = True

    def move(self, slot: int, to: Address) -> None:
        """Notes what a node said of one slot (MOVED); the others may have moved too."""
        masters = self._masters.copy()  # another thread may be looking
        if masters:
            masters[slot] = to
            self._masters = masters
        self.doubt()

    def learn(self) -> None:
        """Asks nodes, in a random order, until one answers. Raises what :meth:`node_of` does."""
        known = list(dict.fromkeys((*self._nodes, *self.seeds)))
        random.shuffle(known)
        reasons = []
        for node in known:
            try:
                answer = self._ask(node)
            except ResponseError as error:
                if "cluster support disabled" in str(error):
                    raise OptionError(
                        f"{node} is a Redis server without cluster mode: its scheme is delayhub:// (TLS: delayhubs://)"
                    ) from None
                reasons.append(f"{node}: {error}")
            except (redis.RedisError, OSError) as error:
                reasons.append(str(error))
            else:
                if answer:
                    self._read(answer, asked=node)
                    return
                reasons.append(f"{node} knows of no slots")
        raise NotExecuted(f"no node of the cluster answers: {'; '.join(reasons)}")

    def _read(self, answer: Any, *, asked: Address) -> None:
        masters: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        nodes = []
        for first, last, master, *replicas in answer:
            address = _address(master, asked)
            nodes += [address, *(_address(replica, asked) for replica in replicas)]
            masters[first : last + 1] = [address] * (last + 1 - first)
        self._masters = masters
        self._nodes = tuple(dict.fromkeys(nodes))
        self._learned_at = time.monotonic()
        self._is_doubted = False


def _address(node: Sequence[Any], asked: Address) -> Address:
    """A node's address; where it gives no host, that is the one that was asked."""
    host = node[0].decode() if isinstance(node[0], bytes) else node[0]
    return Address(host if host and host != "?" else asked.host, int(node[1]))


def key_of(command: Sequence[Any]) -> Any:
    """The key by which a command finds its node; None where it has none."""
    name = command[0]
    if name in ("EVALSHA", "EVAL"):
        return command[3] if int(command[2]) else None
    return command[1] if len(command) > 1 and name.split(" ", 1)[0] not in KEYLESS else None
