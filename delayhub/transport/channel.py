"""The channel: kombu's Redis channel with queues in our engine. Exchanges, bindings and fanout stay kombu's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty
from typing import Any

import redis
from kombu.log import get_logger

from delayhub.engine import Counts, DelayQueue, Entry, Lease
from delayhub.engine.keys import directory
from delayhub.engine.queue_slots import SLOTS_ARGUMENT, declared_number
from delayhub.engine.unique import UniqueKey, offer
from delayhub.errors import OptionError
from delayhub.redis_cluster import client_of
from delayhub.transport import kombu_versions
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.cluster_consumer import ClusterConsumer
from delayhub.transport.consuming.consumer import Consumer
from delayhub.transport.consuming.entry_reader import EntryReader
from delayhub.transport.consuming.lease_book import LeaseBook, book_of
from delayhub.transport.consuming.lease_qos import LeaseQoS
from delayhub.transport.envelope import to_entry
from delayhub.transport.hooks import Hooks, hooks_of
from delayhub.transport.kombu_channel import KombuChannel, TlsConnection
from delayhub.transport.occurrence import move_on, occurrence_of, put
from delayhub.transport.options import ANSWER_SECONDS, CONNECT_SECONDS, OWN_OPTIONS, TransportOptions
from delayhub.transport.poller import Poller
from delayhub.transport.publish_batch import EntryBatch, is_collected
from delayhub.transport.redis_wire import RedisWire
from delayhub.transport.replication import ReplicatedClient
from delayhub.transport.timer_queue import TimerQueue
from delayhub.transport.unique_publish import note_offered, unique_of
from delayhub.transport.waking.event_loop import EventLoop
from delayhub.transport.waking.nudge import Nudge

logger = get_logger(__name__)

#: Queues that a channel remembers; making one costs a tenth of a publish.
KEPT_QUEUES = 100

#: How the queues for replies to remote control are named, and how long replies wait that are not fetched.
REPLIES = ".pidbox"
REPLY_MS = 60_000


class Channel(KombuChannel):
    """Queues of our engine under kombu's channel."""

    QoS = LeaseQoS
    connection_class_ssl = TlsConnection
    from_transport_options = (*kombu_versions.Channel.from_transport_options, *OWN_OPTIONS)
    # kombu waits without end. On a line that was lost without a word (a firewall that forgets idle connections, a
    # machine that is gone) a caller then hangs for as long as TCP sends again: 15 minutes.
    socket_timeout = ANSWER_SECONDS
    socket_connect_timeout = CONNECT_SECONDS

    def __init__(self, connection: Any, **options: Any) -> None:
        self.options = TransportOptions.of(connection.client.transport_options)
        self.hooks: Hooks = hooks_of(connection.client.transport_options)
        self.no_ack_queues: set[str] = set()
        #: What claims for this channel; made when it first consumes.
        self.consumer: Consumer | ClusterConsumer | None = None
        self._publisher: redis.Redis | None = None
        self._queues: dict[str, DelayQueue] = {}
        super().__init__(connection, **options)
        broker = f"{self._broker_uri(connection.client)} {self.options}"
        #: The process' leases on this broker; tasks that outlive the channel acknowledge through it all the same.
        self.book: LeaseBook = book_of(broker, self.options, self._connect_book)
        self.reader = EntryReader(
            self.book,
            hooks=self.hooks,
            max_strikes=self.options.max_strikes,
            make_message=partial(self.Message, channel=self),
        )
        self.handlers: dict[str, Callable[[], object]] = {"LISTEN": self._receive}

    # ------------------------------------------------------------ parts

    @property
    def poller(self) -> Poller:
        """The poller that all channels of the connection share."""
        found: Poller = self.connection.cycle
        return found

    @property
    def hub(self) -> EventLoop | None:
        """The event loop; None where callers poll by themselves (``drain_events``)."""
        return self.poller.hub

    @property
    def publisher(self) -> redis.Redis:
        """The client that publishes. Made once: building one costs more than a publish."""
        if self._publisher is None:
            self._publisher = client_of(self.pool)
        return self._publisher

    def queue(self, name: str) -> DelayQueue:
        """The engine's queue of that name. Never through kombu's prefixing client: our key map has the prefix."""
        found = self._queues.get(name)
        if found is None:
            if len(self._queues) >= KEPT_QUEUES:  # each client has a reply queue of its own
                self._queues.clear()
            found = self._queues[name] = DelayQueue(self.publisher, name, options=self.options.engine())
        return found

    def watch(self, wire: RedisWire, kind: str) -> None:
        """Calls the handler of that kind when the wire's connection can be read."""
        self.poller.watch(self, wire, kind)

    def watch_nudges(self, nudge: Nudge) -> None:
        """Calls the NUDGE handler when the consumer is nudged."""
        self.poller.watch_nudges(self, nudge)

    def _start_consumer(self) -> Consumer | ClusterConsumer:
        if self.consumer is None:
            buffer = Buffer(
                self.book,
                reader=self.reader,
                receivers=self.connection._callbacks,
                timer_queues=self.timer_queues,
                hooks=self.hooks,
            )
            self.consumer = self._make_consumer(buffer)
        return self.consumer

    def _make_consumer(self, buffer: Buffer) -> Consumer | ClusterConsumer:
        consumer = Consumer(self, buffer=buffer, options=self.options.engine(), pool=self.async_pool)
        self.handlers.update(CLAIM=consumer.on_claim, BELL=consumer.on_bell, NUDGE=consumer.on_nudge)
        return consumer

    def _broker_uri(self, client: Any) -> str:
        """What all connections to the same broker have in common."""
        return str(client.as_uri(include_password=True))

    def _connect_book(self) -> redis.Redis:
        pool = self._get_pool()
        pool.connection_kwargs["socket_timeout"] = pool.connection_kwargs.get("socket_timeout") or ANSWER_SECONDS
        return redis.Redis(connection_pool=pool)

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # RESP2: a RESP3 server may push what was not asked for, and the loop would wait for a reply behind it.
        found = {**super()._connparams(asynchronous=asynchronous), "protocol": 2}
        if self.options.wait_replicas and found.get("socket_timeout") is not None:
            found["socket_timeout"] += self.options.wait_seconds  # a publish answers after the replicas did
        return found

    def _after_fork(self) -> None:
        self._publisher = None
        self._queues.clear()
        super()._after_fork()

    # ------------------------------------------------------------ publishing

    def entry(self, message: dict[str, Any], *, is_compact: bool | None = None) -> Entry:
        """The entry that keeps a message; in the form that the options say, or in the one asked for."""
        return to_entry(
            message,
            priority_steps=self.priority_steps,
            is_compact=self.options.compact if is_compact is None else is_compact,
        )

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        if is_collected(queue, message):
            return
        entry, unique = self.entry(message), unique_of(message)
        occurrence = occurrence_of(message)
        if occurrence is not None:
            client, prefix = self._storing_client(), self.options.key_prefix
            to = self._publishing_queue(queue)
            if put(occurrence, entry, queue=to, client=client, key_prefix=prefix, unique=unique):
                self._update_expiry(queue)
                return
        if unique is not None:
            self._offer(queue, entry, unique)
            return
        batch: EntryBatch | None = kwargs.pop("_publish_batch", None)
        if batch is not None:
            batch.add_entry(queue, entry)
        else:
            self.store(queue, [entry])

    def store(self, queue: str, entries: Sequence[Entry]) -> None:
        """Stores new messages of a queue, on replicas too where that is wanted.

        Raises:
            NotReplicated: the messages are stored, but too few replicas have them.
        """
        self._storing_queue(queue).schedule(entries)
        self._update_expiry(queue)

    def _offer(self, queue: str, entry: Entry, unique: UniqueKey) -> None:
        note_offered(offer(self._storing_queue(queue), entry, unique))
        self._update_expiry(queue)

    def _storing_queue(self, name: str) -> DelayQueue:
        found = self._publishing_queue(name)
        return found.over(self._storing_client()) if self.options.wait_replicas else found

    def _publishing_queue(self, name: str) -> DelayQueue:
        return self.queue(name)

    def _update_expiry(self, queue: str) -> None:
        try:
            self._maybe_update_queues_expire(self.publisher, queue)
        except (redis.RedisError, OSError) as error:
            # The messages are stored: who published them must not hear that they are not. The next publish tries again.
            logger.warning("queue %s keeps its messages longer than it should: %s", queue, error)

    def _storing_client(self) -> redis.Redis:
        if not self.options.wait_replicas:
            return self.publisher
        return ReplicatedClient(
            self.pool,
            replicas=self.options.wait_replicas,
            milliseconds=max(1, int(self.options.wait_seconds * 1000)),
            only_warns=self.options.wait_replicas_missing == "warn",
        )

    def _put_fanout(self, exchange: str, message: dict[str, Any], routing_key: str, **kwargs: Any) -> None:
        if is_collected(None, message):
            return
        occurrence = occurrence_of(message)
        if occurrence is not None:
            move_on(occurrence, client=self._storing_client(), key_prefix=self.options.key_prefix)
        super()._put_fanout(exchange, message, routing_key, **kwargs)

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
            for part in self.queue(queue).parts:
                self.hooks.on_consume(part)
            self.connection._callbacks[queue] = self._receiver(queue, callback, no_ack=no_ack)
            self._start_consumer().wanted = True
        return answer

    def _receiver(self, queue: str, callback: Callable[[Any], Any], *, no_ack: bool) -> Callable[[Any], Any]:
        def receive(raw: dict[str, Any]) -> Any:
            tag = raw["properties"]["delivery_tag"]
            try:
                message = self.Message(raw, channel=self)
            except Exception as error:
                self.reader.bury_delivered(tag, reason=f"unreadable: {type(error).__name__}: {error}")
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
            if self.consumer is not None:
                self.consumer.buffer.drop(queue)
                self.consumer.on_cancel()
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
        for part in self.queue(queue).parts:
            while entries := part.claim(1, no_ack=no_ack).entries:
                (entry,) = entries
                leases = [Lease(part.lane, queue, entry.id, entry.token)] if entry.token else []
                message = self.reader.read(queue, entry, leases)
                if message is not None:
                    message["properties"]["delivery_tag"] = self.book.take(leases, counted=entry.counted)
                    return message
        raise Empty

    def acknowledge_early(self, delivery_tag: str, *, is_quick: bool) -> None:
        """Acknowledges a message whose task starts now; sends that before the task may block this process.

        Celery leaves it to its event loop, which may come to it only after the task.

        Args:
            delivery_tag: the message's.
            is_quick: the task is known to take no time, so its acknowledgement may travel with others.
        """
        leases = self.book.tags.get(delivery_tag, ())
        self.book.acknowledge(delivery_tag)
        self.book.hurry(leases, may_share=is_quick)

    def note_free_process(self) -> None:
        """Notes that a message is done, so that its process is free; called by any thread."""
        if self.consumer is not None:
            self.consumer.on_process_free()

    def mark_process_lost(self, delivery_tag: str) -> None:
        """Notes that the process that ran a message was lost: to requeue the message now costs a strike."""
        if delivery_tag in self.book.tags:
            self.book.lost_process.add(delivery_tag)

    # ------------------------------------------------------------ queues

    def _new_queue(self, queue: str, auto_delete: bool = False, **kwargs: Any) -> None:
        super()._new_queue(queue, auto_delete=auto_delete, **kwargs)
        if kwargs.get("durable") and not auto_delete:  # not those of replies and events
            self.add_to_directory(queue)
        arguments = kwargs.get("arguments") or {}
        declared, slots = TimerQueue.declared(arguments), declared_number(arguments)
        if declared is not None:
            self.timer_queues[queue] = declared
        if slots is not None:
            if declared is not None:
                raise OptionError(f"{queue} is a timer lane, which has no slots: leave {SLOTS_ARGUMENT} out")
            self.propose_slots(queue, slots)

    def propose_slots(self, queue: str, count: int) -> None:
        """Cuts a queue that has no slots yet into so many; one server has no use for them."""

    def add_to_directory(self, queue: str) -> None:
        """Adds a queue to those that are known on this broker, so that verbs over all queues find it."""
        try:
            self.publisher.sadd(directory(self.options.key_prefix), queue)
        except redis.OutOfMemoryError:
            self.add_when_full(self.publisher, directory(self.options.key_prefix), queue)

    def count(self, queue: str) -> Counts:
        """How many messages of a queue are where."""
        return self.queue(queue).count()

    def _size(self, queue: str) -> int:
        counts = self.count(queue)
        return counts.waiting + counts.ready + counts.parked

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        del kwargs
        return any(bool(self.publisher.exists(*part.keys.every)) for part in self.queue(queue).parts)

    def _purge(self, queue: str) -> int:
        return self.queue(queue).purge()

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **kwargs: Any) -> None:
        # kombu's own deletes its lists too: keys that are not ours, which the user may not touch under an access rule.
        self.auto_delete_queues.discard(queue)
        member = self.sep.join([routing_key or "", pattern or "", queue or ""])
        with self.conn_or_acquire(client=kwargs.get("client")) as client:
            for table in (self.keyprefix_queue, self.keyprefix_binding_permanent):
                client.srem(table % (exchange,), member)
        self.queue(queue).delete()
        self.publisher.srem(directory(self.options.key_prefix), queue)

    def _maybe_update_queues_expire(self, client: Any, queue: str) -> None:
        ttl = self._expires.get(queue) if self._expires else None
        if ttl is None and queue.endswith(REPLIES):
            ttl = REPLY_MS  # who asked has its queue on another transport and will not delete our keys
        if ttl is not None:
            self.queue(queue).expire(ttl)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """Closes the channel; messages that are not being worked on go back to their places."""
        if self.consumer is not None and not self.closed:
            self.poller.unwatch(self)
            self.consumer.close()
        took_messages = self._qos is not None
        super().close()
        if took_messages and self.book.done:
            # A channel is closed because its connection is dead, as often as not: the book's may be, too.
            self.book.distrust_connections()
            self.book.flush_quietly()
