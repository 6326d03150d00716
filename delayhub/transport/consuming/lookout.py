"""A look at many slots at once: for each node one request that reads whether any of its slots has something due.

A claim of an empty slot costs its node a script call and a request by itself. A look costs four reads a slot, and one
request a node however many slots that has; so slots without news are looked at often and claimed from seldom.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

import redis
from kombu.log import get_logger

from delayhub.engine import LaneKeys
from delayhub.engine.keys import MAX_STEPS
from delayhub.engine.lane_tag import queue_of_lane
from delayhub.redis_cluster import Address, ClusterPool, slot_of_key
from delayhub.transport.options import ANSWER_SECONDS
from delayhub.transport.redis_wire import Command, RedisWire
from delayhub.transport.waking.alarm import Alarm
from delayhub.transport.waking.event_loop import EventLoop

logger = get_logger(__name__)

#: Seconds between looks, each at another node.
LOOK_SECONDS = 1.0
#: Each node is looked at this often at most.
NODE_SECONDS = 2.0
#: A node that did not answer is left out for so long.
REST_SECONDS = 10.0
#: The score of a waiting message is its due time in ms, times this, plus its priority step.
WAITING_SCALE = 16
#: Reads of one lane in a look.
READS = 4


class LookedAt(Protocol):
    """What a lookout needs of the channel it looks for."""

    @property
    def hub(self) -> EventLoop | None:
        """The event loop; None where callers poll by themselves."""

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        """What is called when a connection of that kind can be read."""

    def watch(self, wire: RedisWire, kind: str) -> None:
        """Calls the handler of that kind when the wire's connection can be read."""

    def unwatch_kind(self, kind: str) -> None:
        """Watches connections of that kind no more."""


class Lookout:
    """Looks at one node after the other, and says which lanes have something to claim.

    Args:
        channel: what it looks for.
        pool: the cluster.
        key_prefix: of the keys.
        on_due: is called with the lanes that have messages due, leases that ran out, or a limit that reopened.
        wake: what is called, on the event loop, when it is time to look again.
    """

    def __init__(
        self,
        channel: LookedAt,
        *,
        pool: ClusterPool,
        key_prefix: str,
        on_due: Callable[[Collection[str]], object],
        wake: Callable[[], object],
    ) -> None:
        self.channel = channel
        self.pool = pool
        self.key_prefix = key_prefix
        self.on_due = on_due
        self.alarm = Alarm(wake)
        #: Until when there is nothing to do; inf while it looks at nothing.
        self.next_at = float("inf")
        self._views: dict[Address, NodeView] = {}
        #: How many looks were due so far.
        self.looks = 0

    def begin(self) -> None:
        """Looks from now on, each consumer at moments of its own."""
        if self.next_at == float("inf"):
            self.next_at = time.monotonic() + LOOK_SECONDS * random.uniform(0.5, 1.5)  # noqa: S311  spreads load

    def look(self, lanes: Iterable[str]) -> None:
        """Sends a look at the next node's lanes, where it is time to."""
        now = time.monotonic()
        if now >= self.next_at:
            self.next_at = now + LOOK_SECONDS
            self._look(lanes, now)
        if self.channel.hub is not None and self.next_at != float("inf"):
            self.alarm.attach(self.channel.hub)
            self.alarm.set(self.next_at)

    def require_replies(self) -> None:
        """Drops connections on which a reply is long overdue."""
        for view in list(self._views.values()):
            view.guarded(view.require_reply)

    def close(self) -> None:
        """Looks no more."""
        self.next_at = float("inf")
        self.alarm.close()
        for view in self._views.values():
            view.end()
        self._views.clear()

    def _look(self, lanes: Iterable[str], now: float) -> None:
        by_node: dict[Address, list[str]] = {}
        for lane in lanes:
            try:
                node = self.pool.map.node_of(slot_of_key(LaneKeys(lane, self.key_prefix).base))
            except (redis.RedisError, OSError):
                continue  # its own claim rests, and tries again
            by_node.setdefault(node, []).append(lane)
        if not by_node:
            return
        self.next_at = now + max(LOOK_SECONDS, NODE_SECONDS / len(by_node))
        self.looks += 1
        node, own = sorted(by_node.items())[self.looks % len(by_node)]
        view = self._views.get(node)
        if view is None:
            view = self._views[node] = NodeView(self, node)
        view.guarded(lambda: view.ask(own, now))


class NodeView:
    """The connection by which a lookout looks at one node."""

    def __init__(self, lookout: Lookout, node: Address) -> None:
        self.lookout = lookout
        self.node = node
        self.kind = f"LOOK {node}"
        self.wire = RedisWire(lookout.pool.of_node(node))
        self.lanes: list[str] = []
        self._rests_until = 0.0
        lookout.channel.handlers[self.kind] = self.on_answer

    def ask(self, lanes: list[str], now: float) -> None:
        """Sends a look at these lanes. Raises what redis-py raises."""
        if self.wire.sent or now < self._rests_until:
            return
        self.wire.connect()
        self.lookout.channel.watch(self.wire, self.kind)
        self.lanes = lanes
        commands: list[Command] = [(None, ("TIME",))]
        for lane in lanes:
            commands += [(None, command) for command in reads(lane, self.lookout.key_prefix)]
        self.wire.send(commands, at=now)

    def on_answer(self) -> bool:
        """The answer to a look is there."""
        self.guarded(self._take)
        return False

    def require_reply(self) -> None:
        """Raises ConnectionError where an answer is long overdue."""
        self.wire.require_reply(within=ANSWER_SECONDS)

    def guarded(self, call: Callable[[], object]) -> None:
        """Calls. A node that is not reached is left out for a while; claims of its slots are made all the same."""
        try:
            call()
        except (redis.RedisError, OSError) as error:
            logger.info("cannot look at slots on %s now: %s", self.node, error)
            self.lookout.pool.map.doubt()
            self.lookout.channel.unwatch_kind(self.kind)
            self.wire.close()
            self._rests_until = time.monotonic() + REST_SECONDS

    def end(self) -> None:
        """Closes the connection."""
        self.lookout.channel.unwatch_kind(self.kind)
        self.wire.close()

    def _take(self) -> None:
        replies = self.wire.receive()
        if not replies or isinstance(replies[0], Exception):
            return
        seconds, micros = replies[0]
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        found = [
            lane
            for number, lane in enumerate(self.lanes)
            if is_due(replies[1 + number * READS : 1 + (number + 1) * READS], now_ms)
        ]
        if any(isinstance(reply, Exception) for reply in replies):
            self.lookout.pool.map.doubt()  # a slot that moved, or is about to
        if found:
            self.lookout.on_due(found)


def reads(lane: str, key_prefix: str) -> list[tuple[Any, ...]]:
    """The commands that read whether a lane's queue has something to claim."""
    keys = LaneKeys(lane, key_prefix).queue(queue_of_lane(lane))
    return [
        ("EXISTS", *(keys.ready(step) for step in range(MAX_STEPS)), keys.open),
        *(("ZRANGE", first, 0, 0, "WITHSCORES") for first in (keys.waiting, keys.leased, keys.shut)),
    ]


def is_due(replies: list[Any], now_ms: int) -> bool:
    """Whether a claim would find something, by the answers to :func:`reads`; a refused one says nothing."""
    if any(isinstance(reply, Exception) for reply in replies):
        return False
    exist, waiting, leased, shut = replies
    at = [float(waiting[1]) / WAITING_SCALE] if waiting else []
    at += [float(first[1]) for first in (leased, shut) if first]
    return bool(exist) or any(moment <= now_ms for moment in at)
