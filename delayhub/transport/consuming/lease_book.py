"""The leases that this process holds, renewed until their messages are acknowledged.

The book belongs to the process, not to a channel: a connection may be lost while tasks run, and their acknowledgements
still find their leases.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from typing import Protocol
from weakref import WeakSet

import redis
from kombu.log import get_logger

from delayhub.engine import DelayQueue, LaneKeys, Lease, TimerLane
from delayhub.engine.scripts import script
from delayhub.engine.unique import start
from delayhub.redis_cluster import Address, ClusterClient, NotExecuted, slot_of_key
from delayhub.transport.consuming.lease_keeper import LeaseKeeper
from delayhub.transport.options import TransportOptions

logger = get_logger(__name__)

#: Delivery tags: no two of a process are alike.
_numbers = count(1)

#: The books of this process, by broker.
_books: dict[str, LeaseBook] = {}


def book_of(broker: str, options: TransportOptions, connect: Callable[[], redis.Redis]) -> LeaseBook:
    """The process' book for one broker and one set of options, made when it is first asked for."""
    book = _books.get(broker)
    if book is None:
        book = _books[broker] = LeaseBook(options, connect)
    return book


# A child process holds nothing: its parent's leases, locks and thread stay with the parent.
os.register_at_fork(after_in_child=_books.clear)


class Buffered(Protocol):
    """What the book needs of a channel's buffer, which holds what was claimed and not handed over yet."""

    def leases(self) -> list[Lease]:
        """The leases of all that it holds."""

    def __hash__(self) -> int: ...


class LeaseBook:
    """The leases that this process holds on one broker, and the acknowledgements that Redis has not had yet.

    Args:
        options: how long leases are.
        connect: makes a client; closing channels use one, and the keeper's thread another.
    """

    def __init__(self, options: TransportOptions, connect: Callable[[], redis.Redis]) -> None:
        self.options = options
        self.client = connect()
        self.spans_nodes = isinstance(self.client, ClusterClient)
        self.held: dict[Lease, float] = {}
        self.timers: set[Lease] = set()
        #: What channels have claimed and not handed over yet. Renewed too, since a pool may block the loop for long.
        self.buffers: WeakSet[Buffered] = WeakSet()
        #: Leases in buffers that ran out all the same: other consumers have those messages now.
        self.lost: set[Lease] = set()
        #: Leases of messages that may take the process down, and until when nothing else is claimed beside each.
        self.suspects: dict[Lease, float] = {}
        self.tags: dict[str, tuple[Lease, ...]] = {}
        #: Leases of delivered messages that count among those of a task, or flow key, that may run at once.
        self.counted: set[Lease] = set()
        #: Tags of messages that are acknowledged, and held for their unique key, or since they count, until their
        #: tasks have ended.
        self.started: set[str] = set()
        #: Tags of messages whose process was lost: to give one back costs a strike.
        self.lost_process: set[str] = set()
        #: Acknowledgements that Redis has not had yet.
        self.done: deque[Lease] = deque()
        #: What wakes each consumer when an acknowledgement waits; called by the thread that acknowledged.
        self.bells: set[Callable[[], None]] = set()
        self.keeper = LeaseKeeper(self, connect(), lease_seconds=options.lease_seconds)

    def isolate(self, lease: Lease) -> None:
        """Lets nothing else be claimed until the message is done, or has run for as long as a lease without harm."""
        self.suspects[lease] = time.monotonic() + self.options.lease_seconds

    @property
    def isolates(self) -> bool:
        """Whether this process holds a message that should have it to itself."""
        return bool(self.suspects) and max(tuple(self.suspects.values()), default=0.0) > time.monotonic()

    def take(self, leases: Iterable[Lease], *, timers: bool = False, counted: bool = False) -> str:
        """The delivery tag under which the leases are held from now on."""
        tag = str(next(_numbers))
        taken = tuple(leases)
        now = time.monotonic()
        for lease in taken:
            self.held[lease] = now
        if timers:
            self.timers.update(taken)
        if counted:
            self.counted.update(taken)
        self.tags[tag] = taken
        self.keeper.start()
        return tag

    def acknowledge(self, tag: str) -> None:
        """Ends the leases of a tag; the next claim carries that to Redis. A tag that is not held is passed over."""
        was_empty = not self.done
        leases = self.tags.pop(tag, ())
        self._let_go(leases)
        self.done.extend(leases)
        if not self.bells:
            # No channel claims any more: at a shutdown, of a task that outlived its connection.
            self.flush_quietly()
        elif was_empty and self.done:
            for bell in tuple(self.bells):
                bell()

    def counts(self, tag: str) -> bool:
        """Whether the message counts among those of its task, or flow key, that may run at once."""
        return bool(self.counted) and not self.counted.isdisjoint(self.tags.get(tag, ()))

    def keep_started(self, tag: str) -> bool:
        """Whether a message is kept while its task runs, for its key or place; Redis never gives it out again then.

        Else it has lost its lease, or its key was freed. Where Redis does not answer now, the task runs all the same,
        and the message is kept; should this worker be killed, it runs once more.
        """
        for lane, queue, group, _ in self._groups(self.tags.get(tag, ())):
            try:
                if not start(self.queue(lane, queue), group):
                    return False
            except (redis.RedisError, OSError) as error:
                logger.warning("a running task could not be noted in Redis: %s", error, extra={"queue": queue})
        self.started.add(tag)
        return True

    def end_started(self, tag: str) -> None:
        """Ends a message that was kept while its task ran; others are passed over."""
        if tag in self.started:
            self.started.discard(tag)
            self.acknowledge(tag)

    def prepare(self, connections: int) -> None:
        """Makes what the first acknowledgements need: their script, and so many connections, where they can be had.

        Without it the first tasks of a worker, which acknowledge by themselves, were all late by 20 to 100 ms.
        """
        script("acknowledge")
        if self.spans_nodes:  # each node has connections of its own
            return
        pool, opened = self.client.connection_pool, []
        try:
            opened += [pool.get_connection() for _ in range(connections)]
        except (redis.RedisError, OSError) as error:
            logger.info("no connection for acknowledgements yet: %s", error)
        finally:
            for connection in opened:
                pool.release(connection)

    def hurry(self, leases: Iterable[Lease], *, may_share: bool) -> None:
        """Sends acknowledgements before a task may block the process.

        Args:
            leases: those of its message. In a cluster others, whose node may be away, are left to the keeper.
            may_share: they may wait for the next claim, for ``lease_keeper.ACK_PATIENCE`` at most.
        """
        if not may_share:
            self.flush_quietly(lanes={lease.lane for lease in leases} if self.spans_nodes else None)
        if self.done:
            self.keeper.wake()

    def abandon(self, tag: str) -> bool:
        """Whether the tag held timers. Their leases are left to run out, so that they come back later, one by one."""
        leases = self.tags.get(tag, ())
        if not leases or leases[0] not in self.timers:
            return False
        del self.tags[tag]
        for lease in leases:
            self.held.pop(lease, None)
        self.timers.difference_update(leases)
        return True

    def strike(self, tag: str) -> None:
        """Gives a message back with a strike, so that a message that no process survives comes to an end."""
        leases = self.tags.pop(tag, ())
        self._let_go(leases)
        for lane, queue, group, _ in self._groups(leases):
            if self.queue(lane, queue).strike(group, why="its process was lost").died:
                logger.error(
                    "the message %s on %s is dead: no process survives it",
                    group[0].id,
                    queue,
                    extra={"action": "bury", "queue": queue},
                )

    def release(self, tags: Iterable[str], *, delay_ms: int = 0) -> int:
        """How many entries went back to their places, in one call a queue, in their order; they had been delivered."""
        leases = [lease for tag in tags for lease in self.tags.pop(tag, ())]
        return self.give_back(leases, delivered=True, delay_ms=delay_ms)

    def give_back(self, leases: list[Lease], *, delivered: bool, delay_ms: int = 0) -> int:
        """How many of these leases still held; their entries are back in their places.

        Args:
            leases: what is given back.
            delivered: their messages had been handed over: their next delivery says that it is not the first.
            delay_ms: how long messages wait; 0 for their place in line.
        """
        self._let_go(leases)
        returned = 0
        for lane, queue, group, timers in self._groups(leases):
            if timers:
                returned += TimerLane(self.client, lane, options=self.options.engine()).release(group)
            else:
                returned += self.queue(lane, queue).release(group, delivered=delivered, delay_ms=delay_ms)
        self.timers.difference_update(leases)
        return returned

    def bury(self, leases: list[Lease], *, reason: str) -> None:
        """Puts messages with the dead, for the reason given."""
        self._let_go(leases)
        for lane, queue, group, _ in self._groups(leases):
            self.queue(lane, queue).bury(group, reason=reason)

    def next_done(self, limit: int) -> list[Lease]:
        """Takes out up to ``limit`` acknowledgements to send; a caller that fails to send them puts them back."""
        taken: list[Lease] = []
        while len(taken) < limit:
            try:
                taken.append(self.done.popleft())
            except IndexError:
                break
        if self.timers:
            self.timers.difference_update(taken)
        return taken

    def next_done_of(self, lane: str, limit: int) -> list[Lease]:
        """The same of one lane; those of others stay, in their order."""
        others: list[Lease] = []
        taken: list[Lease] = []
        for _ in range(len(self.done)):
            try:
                lease = self.done.popleft()
            except IndexError:  # another thread sends them
                break
            (taken if lease.lane == lane and len(taken) < limit else others).append(lease)
        self.done.extendleft(reversed(others))
        if self.timers:
            self.timers.difference_update(taken)
        return taken

    def flush(self, client: redis.Redis | None = None, *, lanes: Iterable[str] | None = None) -> None:
        """Sends all acknowledgements to Redis now, or those of some lanes; over another client where one is given.

        Raises:
            redis.RedisError: Redis did not take them; they stay here. Of a cluster, those of nodes that failed.
        """
        while leases := self._next_done_of_any(lanes) if lanes is not None else self.next_done(1000):
            left = dict.fromkeys(leases)

            def send(lane: str, queue: str, group: list[Lease], left: dict[Lease, None] = left) -> None:
                self.queue(lane, queue, client).acknowledge(group)
                for lease in group:
                    left.pop(lease, None)

            try:
                self._in_groups(leases, send, client)
            except redis.RedisError:
                self.done.extendleft(reversed(left))
                raise

    def _next_done_of_any(self, lanes: Iterable[str]) -> list[Lease]:
        return [lease for lane in lanes for lease in self.next_done_of(lane, 1000)]

    def flush_quietly(self, *, lanes: Iterable[str] | None = None) -> None:
        """Sends acknowledgements to Redis now, as :meth:`flush`; where that fails, the keeper tries again."""
        try:
            self.flush(lanes=lanes)
        except (redis.RedisError, OSError) as error:
            logger.warning("could not send %d acknowledgements yet: %s", len(self.done), error)

    def distrust_connections(self) -> None:
        """Makes the next call connect again: where one line of this process went dead without a word, all may have."""
        self.client.connection_pool.disconnect(inuse_connections=False)
        self.keeper.distrusts = True

    @property
    def holds_leases(self) -> bool:
        """Whether there is anything to renew."""
        return bool(self.held) or any(buffer.leases() for buffer in list(self.buffers))

    def keep(self, client: redis.Redis | None = None) -> None:
        """Renews all leases once, and sends acknowledgements that no claim has carried; over a client as in flush.

        Raises:
            redis.RedisError: Redis cannot be reached.
        """
        longest = self.options.max_hold_seconds
        oldest = time.monotonic() - longest if longest else None
        leases = [lease for lease, since in list(self.held.items()) if oldest is None or since > oldest]
        buffered = {lease for buffer in list(self.buffers) for lease in buffer.leases()}
        self.lost &= buffered
        leases += buffered - self.lost
        try:
            self._in_groups(
                leases,
                lambda lane, queue, group: self._renew(queue, group, buffered, self.queue(lane, queue, client)),
                client,
            )
        finally:  # one node's failure stops neither
            self.flush(client)

    def _renew(self, queue: str, group: list[Lease], buffered: set[Lease], target: DelayQueue) -> None:
        kept = target.extend(group)
        lost = [lease for lease in group if lease.id not in kept and (lease in self.held or lease in buffered)]
        for lease in lost:
            self.held.pop(lease, None)
        self.lost.update(buffered.intersection(lost))
        if lost:
            logger.warning(
                "%d leases on %s ran out before they could be renewed; other workers may have run those messages",
                len(lost),
                queue,
                extra={"action": "lease_lost", "queue": queue},
            )

    def _in_groups(
        self, leases: Iterable[Lease], call: Callable[[str, str, list[Lease]], None], client: redis.Redis | None
    ) -> None:
        """Calls for the leases of each queue. In a cluster one node's failure, raised at the end, stops no other.

        A node that is away is asked once: each try takes a second or longer, and the others' leases may run out.
        """
        trouble: redis.RedisError | None = None
        away: set[Address] = set()
        for lane, queue, group, _ in self._groups(leases):
            node = self._node(lane, client or self.client)
            if node in away:
                continue
            try:
                call(lane, queue, group)
            except redis.RedisError as error:
                if not self.spans_nodes:
                    raise
                trouble = error
                is_silent = isinstance(error, redis.ConnectionError | redis.TimeoutError)
                if node is not None and is_silent and not isinstance(error, NotExecuted):  # of one slot only, maybe
                    away.add(node)
        if trouble is not None:
            raise trouble

    def _node(self, lane: str, client: redis.Redis) -> Address | None:
        """Where a lane is, as far as that is known; None on one server."""
        if not isinstance(client, ClusterClient):
            return None
        try:
            return client.connection_pool.map.node_of(slot_of_key(LaneKeys(lane, self.options.key_prefix).base))
        except redis.RedisError:
            return None

    def _let_go(self, leases: Iterable[Lease]) -> None:
        """Stops renewing them, and isolating suspects: the messages are done, or another consumer's."""
        for lease in leases:
            self.held.pop(lease, None)
            self.suspects.pop(lease, None)
            if self.counted:
                self.counted.discard(lease)

    def _groups(self, leases: Iterable[Lease]) -> list[tuple[str, str, list[Lease], bool]]:
        groups: dict[tuple[str, str, bool], list[Lease]] = {}
        for lease in leases:
            groups.setdefault((lease.lane, lease.queue, lease in self.timers), []).append(lease)
        return [(lane, queue, group, timers) for (lane, queue, timers), group in groups.items()]

    def queue(self, lane: str, queue: str, client: redis.Redis | None = None) -> DelayQueue:
        """A queue of the broker."""
        return DelayQueue(client or self.client, queue, lane=lane, options=self.options.engine())
