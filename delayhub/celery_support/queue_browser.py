"""QueueBrowser: what pages show of a broker's queues; it reads, waits a second at most, and needs no worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from kombu import Connection
from redis.exceptions import NoPermissionError

from delayhub.celery_support.backlog import Backlog, backlogs
from delayhub.celery_support.held_keys import HeldKey, held_keys
from delayhub.celery_support.periodic import Periodic, periodic_entries
from delayhub.celery_support.queued_task import QueuedTask, messages_of
from delayhub.celery_support.task_limits import TaskLimit, task_limits
from delayhub.clock import Clock, SystemClock, moment
from delayhub.engine import DelayQueue, Place, TimerLane
from delayhub.engine.entry import text
from delayhub.engine.key_holders import KeyLook, have_keys, look_at_keys, search_keys
from delayhub.engine.keys import LaneKeys, directory
from delayhub.engine.spread_queue import find_queue, find_queues
from delayhub.engine.unique import free_key
from delayhub.redis_cluster import client_of
from delayhub.transport.broker_pool import broker_channel
from delayhub.transport.channel import REPLIES
from delayhub.transport.kombu_migration import KombuBroker
from delayhub.transport.options import TransportOptions

#: Keys of the database that are looked through for queues that only a binding names.
MOST_KEYS = 20_000
#: Messages that one call reads to search them: payloads may be large, and Redis serves no other client meanwhile.
SEARCHED_PAGE = 100
#: A periodic entry that no beat has tended for so long may be gone: its beats read another schedule, or do not run.
STALE_MS = 120_000


class QueueSummary(NamedTuple):
    """One queue at a glance.

    Args:
        name: the queue's name.
        is_lane: whether it holds timers of jobs instead of messages.
        backlog: what waits, is due, is held by workers, is dead.
        oldest_at: since when the first of the due has been due; None where none is.
        next_at: when the next one comes due; None where none waits.
    """

    name: str
    is_lane: bool
    backlog: Backlog
    oldest_at: datetime | None
    next_at: datetime | None


class Search(NamedTuple):
    """What a search found: tasks, how many messages it looked at, of how many, and whether it looked at all."""

    found: list[QueuedTask]
    looked_at: int
    total: int

    @property
    def is_whole(self) -> bool:
        """Whether it looked at everything there was."""
        return self.looked_at >= self.total


class QueueBrowser:
    """Looks at the queues of one broker.

    Args:
        connection: the broker, as the app makes its connections; it is not opened.
        lanes: names of timer lanes, also those that have no timers yet.
        timeout_seconds: how long a call waits for Redis.

    Raises:
        OptionError: the broker is not DelayHub's, or names several servers.
    """

    def __init__(self, connection: Connection, *, lanes: Collection[str] = (), timeout_seconds: float = 1.0) -> None:
        self._lanes = frozenset(lanes)
        self._channel = broker_channel(connection, timeout_seconds=timeout_seconds)
        self._options = TransportOptions.of(connection.transport_options or {}).engine()
        self.client = client_of(self._channel.pool)

    def close(self) -> None:
        """Closes its connections."""
        self._channel.pool.disconnect()

    def queue(self, name: str) -> DelayQueue:
        """The engine's queue of that name."""
        return find_queue(self.client, name, options=self._options)

    def queues(self, names: Sequence[str]) -> list[DelayQueue]:
        """The engine's queues of these names; on a cluster one round trip to each of their nodes."""
        return find_queues(self.client, names, options=self._options)

    def names(self, declared: Iterable[str] = ()) -> list[str]:
        """The queues that settings declare, that were ever used here, or that a binding names; replies left out."""
        bound: set[str] = set()
        with suppress(NoPermissionError):  # access rules may hide kombu's keys
            bound = KombuBroker(self._channel).bound_queues(most_keys=MOST_KEYS)
        return self.used_names([*declared, *bound])

    def used_names(self, declared: Iterable[str] = ()) -> list[str]:
        """The queues that settings declare or that were ever used here; replies left out. One round trip."""
        known = {text(name) for name in self.client.smembers(directory(self._options.key_prefix))}
        return sorted(name for name in {*declared, *known} if not name.endswith(REPLIES))

    def left_by_kombu(self, names: Sequence[str]) -> int | None:
        """How many messages of kombu's own transport are in these queues' lists, where no worker of ours sees them.

        None where the user may not look at kombu's keys.
        """
        try:
            return KombuBroker(self._channel).count(names).total
        except NoPermissionError:
            return None

    def left_out(self) -> list[Periodic]:
        """Return the periodic entries that beats leave out at this time, by name. Two round trips."""
        since = moment(SystemClock().now_ms() - STALE_MS)
        found = periodic_entries(self.client, key_prefix=self._channel.options.key_prefix)
        return [entry for entry in found if entry.why_left_out and entry.seen is not None and entry.seen >= since]

    def summaries(self, names: Sequence[str]) -> list[QueueSummary]:
        """Each queue at a glance; a few round trips, and some more for each timer lane."""
        if not names:
            return []
        lanes = [LaneKeys(name, self._options.key_prefix) for name in names]
        with self.client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            for lane in lanes:
                pipeline.exists(lane.agenda, lane.claimed)
            (seconds, micros), *have_timers = pipeline.execute()
        are_lanes = [bool(some) or name in self._lanes for name, some in zip(names, have_timers, strict=True)]
        now_ms = seconds * 1000 + micros // 1000
        queues = self.queues(names)
        found = backlogs(self.client, queues)
        firsts = self._firsts(queues, after_ms=now_ms)
        return [
            QueueSummary(
                name=name,
                is_lane=is_lane,
                backlog=found[name],
                oldest_at=moment(now_ms - int(found[name].late_seconds * 1000)) if found[name].due else None,
                next_at=self._next_timer_at(name) if is_lane else first,
            )
            for name, is_lane, first in zip(names, are_lanes, firsts, strict=True)
        ]

    def timers(self, lane: str) -> dict[str, tuple[int, int]]:
        """Of each queue of a timer lane, how many timers wait (due ones too) and how many workers hold."""
        timers = self._lane(lane)
        names = timers.queues()
        return {
            name: (each.waiting + each.due, each.leased)
            for name, each in zip(names, timers.outlook(names), strict=True)
        }

    def page(self, queue: str, place: Place, *, offset: int = 0, limit: int = 50) -> list[QueuedTask]:
        """A page of a queue's messages: the soonest, the first in line, or the oldest dead first."""
        listed = self.queue(queue).list(place, offset=offset, limit=limit, payloads=True)
        return [QueuedTask.of(one, place) for one in listed]

    def limits(self, queue: str) -> list[TaskLimit]:
        """The limits of a queue's tasks, by name, and of their flow keys; five round trips."""
        return task_limits(self.queue(queue))

    def held_keys(self, queue: str, *, limit: int) -> list[HeldKey]:
        """The flow keys of a queue whose limits hold most tasks back; five round trips."""
        return held_keys(self.queue(queue), limit=limit)

    def has_unique_keys(self, queue: str) -> bool:
        """Whether unique keys of a queue are taken; one round trip."""
        return have_keys(self.queue(queue))

    def unique_keys(self, queue: str, *, limit: int, wanted: str = "", by_text: bool = True) -> KeyLook:
        """Some of the unique keys that are taken on a queue, or what a search for a key or its message found."""
        if wanted:
            return search_keys(self.queue(queue), wanted, by_text=by_text, limit=limit)
        return look_at_keys(self.queue(queue), limit=limit)

    def free_unique_key(self, queue: str, key: str, *, holder: str) -> bool:
        """Whether that message had the key; it is free now, or the first's that waits for it."""
        return any(free_key(part, key, holder=holder) for part in self.queue(queue).parts)

    def find(self, queue: str, task_id: str) -> list[QueuedTask]:
        """The messages of a task id in that queue, wherever they are, copies too."""
        return messages_of(self.queue(queue), task_id)

    def search(
        self,
        queue: str,
        place: Place,
        wanted: str,
        *,
        with_arguments: bool,
        offset: int = 0,
        most_found: int = 50,
        most_seconds: float = 2.0,
        clock: Clock | None = None,
    ) -> Search:
        """Messages whose task, id or arguments hold a text; it ends when enough were found, or its time is over.

        Args:
            queue: the queue's name.
            place: where to look.
            wanted: the text; upper and lower case are the same.
            with_arguments: look into arguments too, as Celery wrote them for people (about 1 000 characters).
            offset: how many messages to leave out, for a search that goes on.
            most_found: how many are enough.
            most_seconds: how long it may take.
            clock: tells the time.
        """
        clock, needle = clock or SystemClock(), wanted.casefold()
        end, looked_at = clock.monotonic() + most_seconds, offset
        found: list[QueuedTask] = []
        total: int = getattr(self.queue(queue).count(), place.value)
        while page := self.page(queue, place, offset=looked_at, limit=SEARCHED_PAGE):
            for one in page:
                looked_at += 1
                if one.holds(needle, with_arguments=with_arguments):
                    found.append(one)
                    if len(found) >= most_found:
                        return Search(found, looked_at, max(total, looked_at))
            if len(page) < SEARCHED_PAGE or clock.monotonic() > end:
                break
        return Search(found, looked_at, max(total, looked_at))

    def _lane(self, name: str) -> TimerLane:
        return TimerLane(self.client, name, options=self._options)

    def _next_timer_at(self, lane: str) -> datetime | None:
        timers = self._lane(lane)
        times = [each.next_ms for each in timers.outlook(timers.queues()) if each.next_ms is not None]
        return moment(min(times)) if times else None

    def _firsts(self, queues: Sequence[DelayQueue], *, after_ms: int) -> Iterator[datetime | None]:
        """For each queue, the first due time after a moment of what waits there."""
        with self.client.pipeline(transaction=False) as pipeline:
            for key in (part.keys.waiting for queue in queues for part in queue.parts):
                # Scores are the due time in ms, times 16, plus the priority step.
                pipeline.zrange(key, after_ms * 16 + 16, "+inf", byscore=True, withscores=True, offset=0, num=1)
            replies = iter(pipeline.execute() if queues else [])
        for queue in queues:
            scores = [int(reply[0][1]) for reply in (next(replies) for _ in queue.parts) if reply]
            yield datetime.fromtimestamp(min(scores) // 16 / 1000, UTC) if scores else None
