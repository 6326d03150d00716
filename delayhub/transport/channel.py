"""The channel: kombu's Redis channel with queues in our engine. Exchanges, bindings and fanout stay kombu's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty
from typing import Any

import redis
from kombu.log import get_logger
from kombu.transport import redis as kombu_redis

from delayhub.engine import Claimed, Counts, DelayQueue, Entry, LaneKeys, Lease, QueueKeys
from delayhub.engine.keys import directory
from delayhub.transport.consuming.consumer import Consumer
from delayhub.transport.consuming.lease_book import LeaseBook, LeaseQoS, book_of
from delayhub.transport.envelope import Unreadable, from_payload, to_entry
from delayhub.transport.hooks import Hooks, hooks
from delayhub.transport.message import Message
from delayhub.transport.options import OWN_OPTIONS, TransportOptions
from delayhub.transport.publish_batch import EntryBatch
from delayhub.transport.replication import ReplicatedClient

logger = get_logger(__name__)

#: Queue arguments that make a queue a timer lane: the task its timers are handed to, and how many at a time.
TASK_ARGUMENT = "x-delayhub-task"
BATCH_ARGUMENT = "x-delayhub-batch"

#: Queues that a channel remembers; making one costs a tenth of a publish.
KEPT_QUEUES = 100


@dataclass(frozen=True, slots=True)
class TimerQueue:
    """A queue whose timers become messages for a task."""

    task: str
    batch: int


class Channel(kombu_redis.Channel):
    """Queues of our engine under kombu's channel."""

    Message = Message
    QoS = LeaseQoS
    from_transport_options = (
        *kombu_redis.Channel.from_transport_options,
        *OWN_OPTIONS,
    )

    def __init__(self, connection: Any, **options: Any) -> None:
        self.options = TransportOptions.of(connection.client.transport_options)
        self.hooks: Hooks = hooks
        self.no_ack_queues: set[str] = set()
        self._consumer: Consumer | None = None
        self._publisher: redis.Redis | None = None
        self._queues: dict[str, DelayQueue] = {}
        super().__init__(connection, **options)
        broker = f"{connection.client.as_uri(include_password=True)} {self.options}"
        #: The process' leases on this broker; tasks that outlive the channel acknowledge through it all the same.
        self.book: LeaseBook = book_of(broker, self.options, self._connect_book)
        self.handlers = {
            "CLAIM": partial(self._consume, Consumer.on_claim),
            "BELL": partial(self._consume, Consumer.on_bell),
            "NUDGE": partial(self._consume, Consumer.on_nudge),
            "LISTEN": self._receive,
        }

    # ------------------------------------------------------------ parts

    @property
    def poller(self) -> Any:
        """The poller that all channels of the connection share."""
        return self.connection.cycle

    @property
    def consuming(self) -> bool:
        """Whether the channel has ever claimed."""
        return self._consumer is not None

    @property
    def consumer(self) -> Consumer:
        """What claims for this channel; made when it is first needed."""
        if self._consumer is None:
            self._consumer = Consumer(self)
        return self._consumer

    def _consume(self, handler: Callable[[Consumer], bool]) -> bool:
        return handler(self.consumer)

    @property
    def timer_queues(self) -> dict[str, TimerQueue]:
        """Queues that were declared as timer lanes on this connection."""
        declared: dict[str, TimerQueue] = self.connection.timer_queues
        return declared

    @property
    def publisher(self) -> redis.Redis:
        """The client that publishes. Made once: building one costs more than a publish."""
        if self._publisher is None:
            self._publisher = redis.Redis(connection_pool=self.pool)
        return self._publisher

    def queue(self, name: str) -> DelayQueue:
        """The engine's queue of that name. Never through kombu's prefixing client: our key map has the prefix."""
        found = self._queues.get(name)
        if found is None:
            if len(self._queues) >= KEPT_QUEUES:  # each client has a reply queue of its own
                self._queues.clear()
            found = self._queues[name] = DelayQueue(self.publisher, name, options=self.options.engine())
        return found

    def keys(self, lane: str, queue: str) -> QueueKeys:
        """The keys of a queue in a lane."""
        return LaneKeys(lane, self.options.key_prefix).queue(queue)

    def _connect_book(self) -> redis.Redis:
        pool = self._get_pool()
        pool.connection_kwargs.setdefault("socket_timeout", None)
        pool.connection_kwargs["socket_timeout"] = pool.connection_kwargs["socket_timeout"] or 5.0
        return redis.Redis(connection_pool=pool)

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # RESP2: a RESP3 server may push what nobody asked for, and the loop would wait for a reply behind it.
        return {**super()._connparams(asynchronous=asynchronous), "protocol": 2}

    def _after_fork(self) -> None:
        self._publisher = None
        self._queues.clear()
        super()._after_fork()

    # ------------------------------------------------------------ publishing

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str | None]:
        """Text stays as it is: base64 would make it a third longer for nothing."""
        if isinstance(body, str):
            return body, "utf-8"
        encoded: tuple[Any, str | None] = super().encode_body(body, encoding)
        return encoded

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        entry = to_entry(message, priority_steps=self.priority_steps, naive_zone=self.hooks.naive_zone())
        batch: EntryBatch | None = kwargs.pop("_publish_batch", None)
        if batch is not None:
            batch.add_entry(queue, entry)
            return
        self.store(queue, [entry])
        self._maybe_update_queues_expire(self.publisher, queue)

    def store(self, queue: str, entries: Sequence[Entry]) -> None:
        """Stores new messages of a queue, on replicas too where that is wanted."""
        found = self.queue(queue)
        if self.options.wait_replicas:
            milliseconds = max(1, int(self.options.wait_seconds * 1000))
            client = ReplicatedClient(self.pool, replicas=self.options.wait_replicas, milliseconds=milliseconds)
            found = DelayQueue(client, queue, options=found.options)
        found.schedule(entries)

    def create_publish_batch(self, max_size: int) -> EntryBatch:
        """A batch of publishes: one script call for all entries of a queue."""
        return EntryBatch(self, max_size)

    # ------------------------------------------------------------ consuming

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[Any], Any], consumer_tag: str, **kwargs: Any
    ) -> Any:
        """Consumes from a queue; a message that kombu cannot read goes to the dead."""
        answer = super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        if queue not in self._fanout_queues:
            if no_ack:
                self.no_ack_queues.add(queue)
            self.connection._callbacks[queue] = self._receiver(queue, callback, no_ack=no_ack)
            self.consumer.wanted = True
        return answer

    def _receiver(self, queue: str, callback: Callable[[Any], Any], *, no_ack: bool) -> Callable[[Any], Any]:
        def receive(raw: dict[str, Any]) -> Any:
            tag = raw["properties"]["delivery_tag"]
            try:
                message = self.Message(raw, channel=self)
            except Exception as error:
                leases = self.book.tags.pop(tag, ())
                self.bury(queue, leases, reason=f"unreadable: {type(error).__name__}: {error}")
                return None
            if not no_ack:
                self.qos.append(message, tag)
            return callback(message)

        return receive

    def _basic_cancel(self, consumer_tag: str) -> Any:
        queue = self._tag_to_queue.get(consumer_tag)
        answer = super()._basic_cancel(consumer_tag)
        if queue is not None and queue not in self._active_queues:
            self.no_ack_queues.discard(queue)
            if self._consumer is not None:
                self._consumer.buffer.drop(queue)
        return answer

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        """The next due message of a queue, or None."""
        del kwargs
        try:
            raw = self._get(queue, no_ack=no_ack)
        except Empty:
            return None
        message = self.Message(raw, channel=self)
        if not no_ack:
            self.qos.append(message, message.delivery_tag)
        return message

    def _get(self, queue: str, timeout: float | None = None, *, no_ack: bool = False) -> dict[str, Any]:
        del timeout
        while entries := self.queue(queue).claim(1, no_ack=no_ack).entries:
            (entry,) = entries
            leases = [Lease(queue, queue, entry.id, entry.token)] if entry.token else []
            message = self.living(queue, entry, leases)
            if message is not None:
                message["properties"]["delivery_tag"] = self.book.take(leases)
                return message
        raise Empty

    def living(self, queue: str, entry: Claimed, leases: Sequence[Lease]) -> dict[str, Any] | None:
        """The message that was claimed; None where it is dead: nobody can read it, or no process survives it."""
        try:
            message = from_payload(entry.payload, strikes=entry.strikes)
        except Unreadable as error:
            self.bury(queue, leases, reason=f"unreadable: {error}")
            return None
        if not leases or entry.revoked or entry.strikes < self.options.max_strikes:
            return message
        # Told first: if that is what kills this process, or its end comes now, it is claimed and told again.
        reason = f"lost its process or its lease {entry.strikes} times"
        self._mourn(message, reason)
        self.bury(queue, leases, reason=reason)
        return None

    def bury(self, queue: str, leases: Sequence[Lease], *, reason: str) -> None:
        """Puts what was claimed with the dead; the consumer lives on."""
        logger.error("a message on %s is dead: %s", queue, reason, extra={"action": "bury", "queue": queue})
        self.book.bury(list(leases), reason=reason[:500])

    def _mourn(self, raw: dict[str, Any], reason: str) -> None:
        raw["properties"]["delivery_tag"] = "dead"
        try:
            self.hooks.on_dead(self.Message(raw, channel=self), reason)
        except Exception:
            logger.exception("nobody could be told that a message is dead")

    def blame(self, delivery_tag: str) -> None:
        """Says that a message took the process down that ran it: to requeue it costs a strike."""
        if delivery_tag in self.book.tags:
            self.book.blamed.add(delivery_tag)

    # ------------------------------------------------------------ queues

    def _new_queue(self, queue: str, auto_delete: bool = False, **kwargs: Any) -> None:
        super()._new_queue(queue, auto_delete=auto_delete, **kwargs)
        if kwargs.get("durable") and not auto_delete:  # not those of replies and events
            self.publisher.sadd(directory(self.options.key_prefix), queue)
        arguments = kwargs.get("arguments") or {}
        if TASK_ARGUMENT in arguments:
            batch = int(arguments.get(BATCH_ARGUMENT, 100))
            self.timer_queues[queue] = TimerQueue(arguments[TASK_ARGUMENT], batch)

    def count(self, queue: str) -> Counts:
        """How many messages of a queue are where."""
        return self.queue(queue).count()

    def _size(self, queue: str) -> int:
        counts = self.count(queue)
        return counts.waiting + counts.ready

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        del kwargs
        return bool(self.publisher.exists(*self.keys(queue, queue).every))

    def _purge(self, queue: str) -> int:
        return self.queue(queue).purge()

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any) -> None:
        super()._delete(queue, exchange, routing_key, pattern, *args, **kwargs)
        self.queue(queue).delete()
        self.publisher.srem(directory(self.options.key_prefix), queue)

    def _maybe_update_queues_expire(self, client: Any, queue: str) -> None:
        ttl = self._expires.get(queue) if self._expires else None
        if ttl is None:
            return
        lane = LaneKeys(queue, self.options.key_prefix)
        with self.publisher.pipeline(transaction=False) as pipeline:
            for key in (*lane.queue(queue).every, lane.wake, lane.token, lane.alarm):
                pipeline.pexpire(key, ttl)
            pipeline.execute()

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Closes the channel; what nobody works on goes back to its place."""
        if self._consumer is not None and not self.closed:
            self.poller.unwatch(self)
            self._consumer.close()
        super().close()
        self.book.flush_quietly()
