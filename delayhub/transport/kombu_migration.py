"""Moves messages from kombu's own Redis transport to ours, and back."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from kombu.transport import redis as kombu_redis
from kombu.utils.json import dumps
from redis.exceptions import LockError

from delayhub.engine import Entry, Listed, Place
from delayhub.engine.keys import moving, moving_lock
from delayhub.errors import ImportRunning
from delayhub.redis_cluster import ClusterClient, client_of
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import Unreadable, from_payload, to_kombu

#: Not kombu's, which says nothing in a command of a project that has set up no logging.
logger = logging.getLogger(__name__)

#: Messages that are moved at a time.
BATCH = 100

#: What gets a queue, and the ids of the messages that were stored in it.
OnStored = Callable[[str, Sequence[str]], object]

#: Seconds after which an import that was killed is no obstacle to the next; a batch takes some milliseconds.
LOCK_SECONDS = 60

#: Keys that one SCAN looks at: about half a ms of Redis' time.
SCANNED = 1000


class Imported(NamedTuple):
    """What was found of kombu's own transport, and how many messages of it were moved."""

    ready: int
    unacked: int
    moved: int


class Exported(NamedTuple):
    """What was found of ours, how many messages were moved to kombu's own transport, and what stays here."""

    waiting: int
    ready: int
    moved: int
    in_hands: int
    dead: int


@dataclass(frozen=True, slots=True)
class KombuCounts:
    """How many messages wait in kombu's lists, and how many its consumers hold (tasks with an eta among them)."""

    ready: int
    unacked: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.ready + self.unacked


class KombuBroker:
    """What kombu's own Redis transport keeps in the Redis of a channel.

    Args:
        channel: a channel of either transport; both know the same exchanges.
    """

    def __init__(self, channel: kombu_redis.Channel) -> None:
        self.channel = channel
        self.prefix = channel.global_keyprefix or ""
        # Not the channel's client: its prefix goes only before the keys of commands that kombu itself uses.
        self.client: Any = client_of(channel.pool)

    def count(self, queues: Sequence[str]) -> KombuCounts:
        """How much there is of some queues; what consumers hold is not counted by queue.

        Raises:
            redis.NoPermissionError: the user may not look at kombu's keys.
        """
        if isinstance(self.client, ClusterClient):  # kombu's own transport does not run on one
            return KombuCounts(0, 0)
        ready = sum(length for _, _, length in self._filled(queues))
        return KombuCounts(ready, int(self.client.hlen(self.prefix + self.channel.unacked_key)))

    def bound_queues(self, *, most_keys: int | None = None) -> set[str]:
        """The queues that producers or consumers of either transport have bound to an exchange of this Redis.

        A queue that no setting declares (``queue="reports"``, ``task_routes``) is found by its binding only. The reply
        queues of remote control are left out: those who asked are gone.

        Args:
            most_keys: look through so many keys of the database and no more; all by default.
        """
        pattern = glob_escaped(self.prefix + self.channel.keyprefix_queue % "") + "*"
        found: set[str] = set()
        cursor, seen = 0, 0
        while True:
            cursor, tables = self.client.scan(cursor, match=pattern, count=SCANNED)
            for table in tables:
                if not table.endswith(b".pidbox"):
                    members = self.client.smembers(table)
                    found.update(member.decode().rsplit(self.channel.sep, 1)[-1] for member in members)
            seen += SCANNED
            if not cursor or (most_keys is not None and seen >= most_keys):
                return found - {""}

    def move(
        self, queues: Sequence[str], target: Channel, *, held: bool, on_stored: OnStored = lambda _queue, _ids: None
    ) -> int:
        """How many messages were moved to a channel of ours: those of some queues, and all that consumers hold.

        Each message of a list is taken in one step, so live workers of either transport may take others meanwhile. It
        is stored in the target and then removed here; what an interrupted run has stored is not stored again while it
        waits there.

        Args:
            queues: whose lists are emptied.
            target: a channel of ours.
            held: whether to move what consumers hold, too. Stop kombu's workers before: they would run it, too.
            on_stored: gets a queue and the ids that were stored in it, before they are removed here. If it fails,
                the next run calls it again.

        Raises:
            ImportRunning: another run has not ended.
        """
        lock = self.client.lock(moving_lock(self.prefix), timeout=LOCK_SECONDS, blocking=False)
        if not lock.acquire():
            raise ImportRunning(str(ImportRunning.__doc__))
        try:
            moved = 0
            for queue, key, _ in self._filled(queues):
                while raws := self._taken(key):
                    lock.reacquire()
                    self._store(target, [(queue, raw) for raw in raws], on_stored)
                    self.client.delete(moving(self.prefix, key))
                    moved += len(raws)
            return moved + (self._move_held(target, on_stored) if held else 0)
        finally:
            with suppress(LockError):  # it ran out: the last batch took longer than a minute
                lock.release()

    def _taken(self, key: str) -> list[bytes]:
        """The next messages of a list, the oldest first; nothing but an import sees them from here on."""
        own = moving(self.prefix, key)
        if not self.client.exists(own):
            with self.client.pipeline(transaction=False) as pipeline:
                for _ in range(BATCH):
                    pipeline.lmove(key, own, "RIGHT", "LEFT")
                pipeline.execute()
        return list(reversed(self.client.lrange(own, 0, -1)))

    def _move_held(self, target: Channel, on_stored: OnStored) -> int:
        moved = 0
        for tag, raw in self.client.hscan_iter(self.prefix + self.channel.unacked_key):
            message, exchange, routing_key = json.loads(raw)
            queues = self._bound_for(exchange, routing_key or "")
            if not queues:
                logger.warning("a message stays: no queue is bound to exchange %r for %r", exchange, routing_key)
                continue
            self._store(target, [(queue, json.dumps(message).encode()) for queue in queues], on_stored)
            with self.client.pipeline() as pipeline:
                pipeline.hdel(self.prefix + self.channel.unacked_key, tag)
                pipeline.zrem(self.prefix + self.channel.unacked_index_key, tag)
                pipeline.execute()
            moved += 1
        return moved

    def take_back(self, queues: Sequence[str], source: Channel) -> int:
        """How many messages were moved here from a channel of ours: those that wait or are ready, in their order.

        Stop our workers and producers before. What killed workers held is ready again once its lease has run out; what
        is still leased, dead, or unreadable stays. A message is stored here first and then removed from the source; one
        that an interrupted run has stored is not stored again.
        """
        take_lost_leases_back(queues, source)
        places = (Place.PARKED, Place.READY, Place.WAITING)
        return sum(self._take_back(queue, place, source) for queue in queues for place in places)

    def _take_back(self, name: str, place: Place, source: Channel) -> int:
        queue, moved, unreadable = source.queue(name), 0, 0
        while page := queue.list(place, offset=unreadable, limit=BATCH, payloads=True):
            stored = {raw for _, key in self._lists([name]) for raw in self.client.lrange(key, 0, BATCH - 1)}
            with self.client.pipeline() as pipeline:
                done = []
                for listed in page:
                    try:
                        raw = raw_of(listed, place)
                    except Unreadable:
                        unreadable += 1
                        continue
                    done.append(listed.id)
                    if raw not in stored:
                        step = self.channel.priority_steps[min(listed.step, len(self.channel.priority_steps) - 1)]
                        pipeline.lpush(self.prefix + self.channel._q_for_pri(name, step), raw)
                pipeline.execute()
            moved += queue.discard(done)
        return moved

    def _lists(self, queues: Sequence[str]) -> Iterator[tuple[str, str]]:
        for queue in queues:
            for step in self.channel.priority_steps:
                yield queue, self.prefix + self.channel._q_for_pri(queue, step)

    def _filled(self, queues: Sequence[str]) -> list[tuple[str, str, int]]:
        """The lists of some queues that hold messages, each with how many; those on their way count as well."""
        lists = list(self._lists(queues))
        with self.client.pipeline(transaction=False) as pipeline:
            for _, key in lists:
                pipeline.llen(key)
                pipeline.llen(moving(self.prefix, key))
            lengths = iter(pipeline.execute(raise_on_error=False))
        found = []
        for (queue, key), here, under_way in zip(lists, lengths, lengths, strict=False):
            if isinstance(here, int):
                if here or under_way:
                    found.append((queue, key, here + under_way))
            elif "WRONGTYPE" not in str(here):  # that is a key of the name which is no queue of kombu's
                raise here
        return found

    def _bound_for(self, exchange: str, routing_key: str) -> list[str]:
        """The queues of an exchange for that key. kombu goes by the type, which only who declared it knows."""
        if not exchange:
            return [routing_key] if routing_key else []
        return sorted(
            {
                queue
                for key, pattern, queue in self.channel.get_table(exchange)
                if key == routing_key or (pattern and re.match(pattern, routing_key))
            }
        )

    def _store(self, target: Channel, messages: Sequence[tuple[str, bytes]], on_stored: OnStored) -> None:
        by_queue: dict[str, list[Entry]] = {}
        for name, raw in messages:
            by_queue.setdefault(name, []).append(entry_of(raw, target))
        for name, entries in by_queue.items():
            queue = target.queue(name)
            stored = queue.payloads([entry.id for entry in entries])
            queue.schedule([entry for entry in entries if entry.payload not in stored[entry.id]])
            target.add_to_directory(name)
            on_stored(name, [entry.id for entry in entries])


def take_lost_leases_back(queues: Sequence[str], source: Channel) -> None:
    """Ends leases on messages of ours that ran out. Claims do that, but no worker claims while messages move back."""
    for name in queues:
        while sum(source.queue(name).reap(limit=BATCH)):
            pass


def entry_of(raw: bytes, target: Channel) -> Entry:
    """A message of kombu's as an entry; an unreadable one comes over as it is, and will be dead with the reason."""
    try:
        return target.entry(json.loads(raw))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Entry(str(uuid4()), payload=raw)


def glob_escaped(text: str) -> str:
    """A pattern for Redis that matches this text only."""
    return re.sub(r"([*?\[\]\\^])", r"\\\1", text)


def raw_of(listed: Listed, place: Place) -> bytes:
    """A message of ours as kombu keeps it. Raises Unreadable where it is none."""
    message = from_payload(listed.payload or b"", redelivered=listed.redelivered)
    due = datetime.fromtimestamp(listed.at_ms / 1000, UTC) if place is Place.WAITING else None
    return dumps(to_kombu(message, due=due)).encode()
