"""Control of tasks that wait in Redis; none of it needs a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar, cast

import redis
from celery import current_app
from celery.app.control import Control as CeleryControl
from kombu.log import get_logger
from redis.exceptions import NoPermissionError

from delayhub.celery_support.backlog import Backlog, backlogs, count_queue
from delayhub.celery_support.held_keys import HeldKey, held_keys
from delayhub.celery_support.job_store import JobFindings, find_job_store
from delayhub.celery_support.kombu_workers import ANSWER_SECONDS, kombu_connection
from delayhub.celery_support.moving_over import move_over
from delayhub.celery_support.periodic import Periodic, forget_entry, periodic_entries
from delayhub.celery_support.queue_verbs import Outcome, redrive_all
from delayhub.celery_support.queued_task import QueuedTask, messages_of, stretch
from delayhub.celery_support.revocation import listed, revoke_waiting, stamped_ids, wanted_stamps
from delayhub.celery_support.task_limits import TaskLimit, set_at_once_for_all, set_for_all, task_limits
from delayhub.clock import runnable_ms
from delayhub.engine import Counts, DelayQueue, Place
from delayhub.engine.entry import text
from delayhub.engine.fitness import Fitness, examine
from delayhub.engine.key_holders import KeyHolder, look_at_keys
from delayhub.engine.keys import LaneKeys, directory
from delayhub.engine.queue_slots import QueueSlots, checked_number
from delayhub.engine.task_name import KEY_MARK
from delayhub.engine.unique import free_key
from delayhub.errors import NotOurBroker, OptionError
from delayhub.transport.channel import Channel
from delayhub.transport.cluster_transport import ClusterChannel
from delayhub.transport.envelope import moment_of
from delayhub.transport.kombu_migration import Exported, Imported, KombuBroker, KombuCounts, take_lost_leases_back

logger = get_logger(__name__)

Found = TypeVar("Found")

#: Unique keys of a queue that are listed.
MOST_KEYS = 1000


class Control(CeleryControl):
    """Celery's control, and verbs over the broker's queues.

    The queues are those that were ever declared on this broker and not deleted; each verb takes one or all of them.
    """

    def broadcast(self, command: str, arguments: Mapping[str, Any] | None = None, *rest: Any, **options: Any) -> Any:
        """Sends a command to the workers. One that revokes tasks first removes those that wait in Redis.

        So ``revoke``, ``terminate``, ``AsyncResult.revoke`` and ``celery control revoke`` are for good: chords that
        wait for a removed task end. A task that a worker holds is revoked by that worker, as Celery does it.
        """
        removed = None
        asked = {**(arguments or {}), **options}
        if command in {"revoke", "terminate"} and "task_id" in asked:
            removed = self.revoke_waiting(listed(asked["task_id"]))
        elif command == "revoke_by_stamped_headers" and "headers" in asked:
            removed = self.revoke_stamped(asked["headers"])
        elif command == "rate_limit" and "task_name" in asked:
            changed = self.set_rate_limit(asked["task_name"], asked.get("rate_limit"))
            options["is_set"] = changed is not None
            return self._answered(
                super().broadcast(command, arguments, *rest, **options),
                f"set in Redis for {changed} queues; no worker answered" if changed is not None else None,
                options,
            )
        replies = super().broadcast(command, arguments, *rest, **options)
        done = None if removed is None else f"{removed} waiting tasks revoked in Redis; no worker answered"
        return self._answered(replies, done, options)

    @staticmethod
    def _answered(replies: Any, done: str | None, options: Mapping[str, Any]) -> Any:
        """The workers' replies; where none came, what was done without them."""
        if done is None or replies != []:  # None: no replies were asked for
            return replies
        reply = {"delayhub": {"ok": done}}
        if options.get("callback"):
            options["callback"](reply)
        return [reply]

    def revoke_waiting(self, ids: Sequence[str]) -> int:
        """How many messages that waited in Redis were removed; their tasks are stored as revoked. None elsewhere."""
        with self.app.connection_for_write() as connection:
            channel = connection.default_channel
            return revoke_waiting(self.app, channel, self._queues(channel), ids) if isinstance(channel, Channel) else 0

    def revoke_stamped(self, headers: Mapping[str, Any] | Sequence[str]) -> int:
        """How many messages with one of these stamps were removed; it reads every message of every queue."""
        wanted = wanted_stamps(headers)
        with self.app.connection_for_write() as connection:
            channel = connection.default_channel
            if not isinstance(channel, Channel):
                return 0
            found = {
                name: list(dict.fromkeys(stamped_ids(channel.queue(name), wanted))) for name in self._queues(channel)
            }
            return sum(revoke_waiting(self.app, channel, [name], ids) for name, ids in found.items() if ids)

    def set_rate_limit(self, task: str, rate_limit: Any, *, by: str = "", each_key: bool = False) -> int | None:
        """How many queues a task's limit was set on, over all their workers; None where the broker is not DelayHub's.

        It wins over what code declares, also after restarts. ``celery control rate_limit`` and ``control.rate_limit``
        set it too.

        Args:
            task: the task's name.
            rate_limit: such as "10/s"; 0 for no limit, None to let the declared one count again.
            by: who says so; the user of this process by default.
            each_key: the limit is that of each flow key of the task.

        Raises:
            ValueError: it is no rate.
            OptionError: the task's name has a quote in it.
        """
        task += KEY_MARK if each_key else ""
        with self.app.connection_for_write() as connection:
            channel = connection.default_channel
            if not isinstance(channel, Channel):
                return None
            return set_for_all(self._message_queues(channel), task, rate_limit, by=by)

    def set_max_in_flight(self, task: str, most: int | None, *, by: str = "", each_key: bool = False) -> int:
        """How many queues it was set on how many of a task may run at once, over all their workers.

        It wins over what code declares, also after restarts.

        Args:
            task: the task's name.
            most: 0 for any number, None to let the declared one count again.
            by: who says so; the user of this process by default.
            each_key: so many of each flow key of the task.

        Raises:
            ValueError: it is negative.
            OptionError: the task's name has a quote in it.
        """
        task += KEY_MARK if each_key else ""
        with self._channel() as channel:
            return set_at_once_for_all(self._message_queues(channel), task, most, by=by)

    def rate_limits(self, queue: str | None = None) -> dict[str, list[TaskLimit]]:
        """The limits of each queue's tasks, and how many due tasks they hold back; queues without any left out."""
        return self._in_each(queue, task_limits)

    def held_flow_keys(self, queue: str | None = None, *, limit: int = 20) -> dict[str, list[HeldKey]]:
        """The flow keys whose limits hold most tasks back, of each queue that has any; it looks at about 2 000."""
        return self._in_each(queue, partial(held_keys, limit=limit))

    def reschedule(
        self, task_id: str, *, eta: datetime | None = None, countdown: float | None = None, queue: str | None = None
    ) -> bool:
        """Whether a waiting task of that id was moved to another time; a task that a worker holds is not.

        Args:
            eta: the new time, now where it is past; without a time zone it is in UTC, as with ``apply_async``.
            countdown: or the seconds from now.
            queue: where to look; everywhere by default.

        Raises:
            ValueError: neither ``eta`` nor ``countdown`` is given, or both are; or it is no time.
            TypeError: ``eta`` is no datetime.
            NotOurBroker: the app's broker is not DelayHub's; the verbs below raise this too.
        """
        if (eta is None) == (countdown is None):
            raise ValueError("reschedule takes either eta or countdown")
        if eta is None:
            try:
                eta = self.app.now().astimezone(UTC) + timedelta(seconds=float(countdown or 0))
            except (OverflowError, ValueError) as error:
                raise ValueError(f"a countdown is a number of seconds, got {countdown!r}") from error
        if not isinstance(eta, datetime):
            raise TypeError(f"an eta is a datetime, got {eta!r}")
        due = runnable_ms(moment_of(eta))
        with self._channel() as channel:
            answers = [
                channel.queue(name).reschedule([task_id], due_ms=due)[0] for name in self._queues(channel, queue)
            ]
        return "moved" in answers

    def scheduled(self, queue: str | None = None, *, limit: int = 100, offset: int = 0) -> list[QueuedTask]:
        """A page of the tasks that wait for their time, the soonest first."""
        return self._page(Place.WAITING, queue, limit, offset)

    def dead(self, queue: str | None = None, *, limit: int = 100, offset: int = 0) -> list[QueuedTask]:
        """A page of the tasks that gave up, the oldest first, with the reason."""
        return self._page(Place.DEAD, queue, limit, offset)

    def find(self, task_id: str, queue: str | None = None) -> dict[str, list[QueuedTask]]:
        """The messages of a task id by queue, wherever they are, copies too; queues without any left out.

        Nothing is found of a task that has ended: its message is gone.
        """
        return self._in_each(queue, partial(messages_of, task_id=task_id))

    def redrive(self, queue: str | None = None, ids: Sequence[str] | None = None, *, limit: int = 100) -> int:
        """How many dead tasks are back in line: those named, or the ``limit`` oldest of each queue."""
        with self._channel() as channel:
            return sum(channel.queue(name).redrive(ids, limit=limit) for name in self._queues(channel, queue))

    def redrive_all(self, queue: str | None = None) -> Outcome:
        """How many of the tasks that are dead now are back in line, and how many stay: another has their unique key."""
        with self._channel() as channel:
            found = [redrive_all(channel.queue(name)) for name in self._queues(channel, queue)]
        return Outcome(sum(each.done for each in found), sum(each.left for each in found))

    def counts(self, queue: str | None = None) -> dict[str, Counts]:
        """How many tasks of each queue wait, are ready, are held by workers, are dead; of a timer lane, its timers."""
        with self._channel() as channel:
            return {name: count_queue(channel, name) for name in self._queues(channel, queue)}

    def backlogs(self, queue: str | None = None) -> dict[str, Backlog]:
        """What there is to do on each queue, as autoscalers want it: due tasks, and for how long they have been due."""
        with self._channel() as channel:
            return backlogs(channel.publisher, [channel.queue(name) for name in self._queues(channel, queue)])

    def schedules(self, queue: str | None = None) -> list[Periodic]:
        """The periodic entries that beats with ``delayhub.beat`` tend, by name: all, or those of one queue."""
        with self._channel() as channel:
            return periodic_entries(channel.publisher, key_prefix=channel.options.key_prefix, queue=queue)

    def forget_schedule(self, name: str) -> bool:
        """Whether the state of a periodic entry was removed; for entries that are in no schedule any more."""
        with self._channel() as channel:
            return forget_entry(channel.publisher, name, key_prefix=channel.options.key_prefix)

    def slots(self, queue: str, number: int | None = None) -> QueueSlots:
        """The slots of a queue on a Redis Cluster, which are so many from now on where a number is given.

        Args:
            queue: the queue's name.
            number: 1, 2, 4, 8, 16, 32 or 64. Nothing is moved: what waits stays in its slot, and workers ask all slots
                that there ever were.

        Raises:
            OptionError: the broker is one server, the number is another, or the queue is a timer lane.
        """
        with self._channel() as channel:
            if not isinstance(channel, ClusterChannel):
                raise OptionError("a queue has slots on a Redis Cluster only: its scheme is delayhub-cluster://")
            if number is None:
                return channel.slots(queue)
            lane = LaneKeys(queue, channel.options.key_prefix)
            if channel.publisher.exists(lane.agenda, lane.claimed):
                raise OptionError(f"{queue} is a timer lane, which has no slots")
            return channel.slot_table.set(queue, checked_number(number))

    def unique_keys(self, queue: str | None = None) -> dict[str, list[KeyHolder]]:
        """The unique keys that are taken on each queue, by name (1 000 of a queue); queues without any left out."""
        return self._in_each(
            queue, lambda each: sorted(look_at_keys(each, limit=MOST_KEYS).found, key=attrgetter("key"))
        )

    def free_unique_key(self, key: str, queue: str | None = None) -> int:
        """How many queues had this unique key taken; it is free there. The task that had it stays, and may run."""
        with self._channel() as channel:
            return sum(
                free_key(part, key) for name in self._queues(channel, queue) for part in channel.queue(name).parts
            )

    def unattended(self) -> dict[str, Backlog]:
        """The queues with due tasks that are taken by no worker which answers within a second."""
        due = {name: found for name, found in self.backlogs().items() if found.due}
        if not due:
            return {}
        replies = self.inspect(timeout=ANSWER_SECONDS).active_queues() or {}
        taken = {queue["name"] for queues in replies.values() for queue in queues or ()}
        return {name: found for name, found in due.items() if name not in taken}

    def examine(self) -> tuple[Fitness, KombuCounts | None]:
        """What is wrong with the Redis server, and how many messages of kombu's own transport wait in it.

        The second is None where the user may not look at kombu's keys.
        """
        with self._channel() as channel:
            broker = KombuBroker(channel)
            try:
                left = broker.count(self._kombu_queues(channel, broker))
            except NoPermissionError:
                left = None
            return examine(channel.publisher), left

    def examine_jobs(self) -> JobFindings:
        """What keeps the jobs of this app from running. Empty where nothing does, or where it has no jobs."""
        # As a worker does: with Django's apps comes the store, and a command has not loaded them.
        self.app.loader.import_default_modules()
        store = find_job_store()
        if store is None or current_app != self.app:  # jobs go by the current app
            return JobFindings()
        try:
            with self._channel() as channel:
                faults = store.faults(channel.publisher, prefix=channel.options.key_prefix)
            return JobFindings(faults) if faults else JobFindings((), store.delivery_faults(), store.warnings())
        except (redis.RedisError, OSError) as error:
            return JobFindings((), [f"the server that holds the timers does not answer: {error}"])

    def import_redis(
        self, source: str | None = None, *, queues: Sequence[str] = (), dry_run: bool = False, ready_only: bool = False
    ) -> Imported:
        """Move what kombu's own Redis transport keeps over to this broker.

        What old workers say was revoked stays so, also where a later import of that day moves it. A warning says
        where none answers.

        Args:
            source: the old broker's ``redis://`` URL; the Redis of this broker by default.
            queues: those to move; by default all that are known here or bound there. What the old workers held is
                moved from every queue.
            dry_run: only count.
            ready_only: leave what the old workers hold, tasks with an eta among it, to them; they may be up.

        Raises:
            OldWorkersAlive: workers of the old broker are up, and what they hold was to be moved.
            ImportRunning: another import has not ended.
        """
        with self._channel() as channel, self._stock(source) as old:
            stock = KombuBroker(old.default_channel if old else channel)
            known = self._kombu_queues(channel, stock)
            names = list(queues) or known
            found = stock.count(names)
            if dry_run:
                return Imported(found.ready, found.unacked, 0)
            moved = move_over(self.app, channel, stock, queues=names, known=known, source=source, ready_only=ready_only)
            return Imported(found.ready, found.unacked, moved)

    def export_redis(self, target: str | None = None, *, queues: Sequence[str] = (), dry_run: bool = False) -> Exported:
        """Moves what waits and what is ready to kombu's own Redis transport; stop workers and producers before.

        Args:
            target: the other broker's ``redis://`` URL; the Redis of this broker by default.
            queues: those to move; all that are known by default.
            dry_run: only count.
        """
        with self._channel() as channel, self._stock(target) as other:
            names = list(queues) or self._queues(channel)
            if not dry_run:
                take_lost_leases_back(names, channel)
            before = Counts(*map(sum, zip(*(channel.count(name) for name in names), strict=True)))
            stock = KombuBroker(other.default_channel if other else channel)
            moved = 0 if dry_run else stock.take_back(names, channel)
            return Exported(before.waiting, before.ready + before.parked, moved, before.leased, before.dead)

    # ------------------------------------------------------------ inside

    def _stock(self, url: str | None) -> AbstractContextManager[Any]:
        """A connection to a broker of kombu's own transport, None for this one's Redis. It has the app's prefix."""
        if url is None:
            kombu_connection(self.app, None)  # which refuses a cluster
            return nullcontext()
        return cast("AbstractContextManager[Any]", kombu_connection(self.app, url))

    @contextmanager
    def _channel(self) -> Iterator[Channel]:
        with self.app.connection_for_write() as connection:
            channel = connection.default_channel
            if not isinstance(channel, Channel):
                raise NotOurBroker(str(connection.transport_cls))
            yield channel

    def _in_each(self, queue: str | None, look: Callable[[DelayQueue], list[Found]]) -> dict[str, list[Found]]:
        """What is found in that queue, or in each that is known; queues without any left out."""
        with self._channel() as channel:
            found = {name: look(channel.queue(name)) for name in self._queues(channel, queue)}
        return {name: there for name, there in found.items() if there}

    def _message_queues(self, channel: Channel) -> list[DelayQueue]:
        return [channel.queue(name) for name in self._queues(channel) if name not in channel.timer_queues]

    def _queues(self, channel: Channel, queue: str | None = None) -> list[str]:
        if queue is not None:
            return [queue]
        known = channel.publisher.smembers(directory(channel.options.key_prefix))
        return sorted({text(name) for name in known} | set(self.app.amqp.queues))

    def _kombu_queues(self, channel: Channel, stock: KombuBroker) -> list[str]:
        return sorted({*self._queues(channel), *stock.bound_queues()})

    def _page(self, place: Place, queue: str | None, limit: int, offset: int) -> list[QueuedTask]:
        with self._channel() as channel:
            if queue is not None:
                return list(stretch(channel.queue(queue), place, offset, limit))
            found = [
                task
                for name in self._queues(channel)
                for task in stretch(channel.queue(name), place, 0, offset + limit)
            ]
        return sorted(found, key=attrgetter("at"))[offset : offset + limit]
