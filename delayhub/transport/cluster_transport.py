"""The transports on a Redis Cluster: ``delayhub-cluster://a:6379;delayhub-cluster://b:6379``, and over TLS."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis
from kombu.log import get_logger
from kombu.utils.url import url_to_parts

from delayhub.engine import DelayQueue
from delayhub.engine.queue_slots import FRESH_SECONDS, QueueSlots, ask_slots
from delayhub.engine.spread_queue import queue_with
from delayhub.errors import OptionError
from delayhub.redis_cluster import Address, ClusterClient, ClusterPool, client_of
from delayhub.redis_cluster.cluster_url import HOME, ONLY_DATABASE, require_hosts
from delayhub.transport.channel import REPLIES, Channel
from delayhub.transport.consuming.buffer import Buffer
from delayhub.transport.consuming.cluster_consumer import ClusterConsumer
from delayhub.transport.options import ANSWER_SECONDS
from delayhub.transport.transport import SecureTransport, Transport

logger = get_logger(__name__)

#: Seconds for which the last answer counts where a queue's node gives none.
AFTER_ERROR_SECONDS = 30.0


class SlotTable:
    """The slots of queues. A number that is known late does no harm: consumers ask every slot that there ever was.

    Args:
        connect: gives a client that does not wait for long.
        prefix: of the keys.
    """

    def __init__(self, connect: Callable[[], redis.Redis], *, prefix: str) -> None:
        self._connect = connect
        self._prefix = prefix
        self._known: dict[str, QueueSlots] = {}
        self._fresh_until: dict[str, float] = {}

    def slots(self, queue: str) -> QueueSlots:
        """The slots of a queue; asked for where what is known is older than five seconds."""
        known = self._known.get(queue, QueueSlots())
        now = time.monotonic()
        if now < self._fresh_until.get(queue, 0.0):
            return known
        try:
            known = ask_slots(self._connect(), queue, known, prefix=self._prefix)
        except (redis.RedisError, OSError) as error:
            logger.info("cannot ask how many slots %s has now: %s", queue, error)
            self._fresh_until[queue] = now + AFTER_ERROR_SECONDS
            return known
        self.note(queue, known)
        return known

    def propose(self, queue: str, number: int) -> QueueSlots:
        """The slots of a queue, which are so many where it had none. Raises what Redis raises."""
        return self._kept(queue, proposed=number)

    def set(self, queue: str, number: int) -> QueueSlots:
        """The slots of a queue, which are so many from now on. Raises what Redis raises."""
        return self._kept(queue, number=number)

    def note(self, queue: str, slots: QueueSlots) -> None:
        """Keeps what Redis said of a queue."""
        if len(self._known) > 1000:  # each client has a reply queue of its own
            self._known.clear()
            self._fresh_until.clear()
        self._known[queue] = slots
        self._fresh_until[queue] = time.monotonic() + FRESH_SECONDS

    def forget(self, queue: str) -> None:
        """The queue was deleted."""
        self._known.pop(queue, None)
        self._fresh_until.pop(queue, None)

    def _kept(self, queue: str, *, number: int = 0, proposed: int = 0) -> QueueSlots:
        known = self._known.get(queue, QueueSlots())
        found = ask_slots(self._connect(), queue, known, prefix=self._prefix, number=number, proposed=proposed)
        self.note(queue, found)
        return found


#: Seconds for which acknowledgements and renewals of leases are tried again in one go; they come again by themselves.
BOOK_SECONDS = 1.0


#: Property of a message whose publish failed: the slots of its queues at that try.
UNANSWERED_SLOTS = "x-delayhub-unanswered-slots"


class ClusterChannel(Channel):
    """A channel whose queues are where their keys are; kombu's own keys and pub/sub are on the node of one hash tag."""

    keyprefix_queue = f"{HOME}_kombu.binding.%s"
    keyprefix_binding_deadlines = f"{HOME}_kombu.binding_deadlines"
    keyprefix_binding_permanent = f"{HOME}_kombu.binding_permanent.%s"

    def __init__(self, connection: Any, **options: Any) -> None:
        self._slotted: dict[str, tuple[QueueSlots, DelayQueue]] = {}
        #: The slots that the publish under way goes by; those of the try before, where its reply was lost.
        self._going_by: dict[str, QueueSlots] = {}
        super().__init__(connection, **options)
        self.slot_table = SlotTable(self._brief_client, prefix=self.options.key_prefix)

    # ------------------------------------------------------------ slots

    def queue(self, name: str) -> DelayQueue:
        """The engine's queue of that name, with all its slots."""
        return self._with(name, self.slots(name))

    def slots(self, queue: str) -> QueueSlots:
        """The slots of a queue, as far as this channel knows."""
        return QueueSlots() if queue.endswith(REPLIES) else self.slot_table.slots(queue)

    def propose_slots(self, queue: str, count: int) -> None:
        """Cuts a queue that has no slots yet into so many."""
        self.slot_table.propose(queue, count)

    def _delete(self, queue: str, *given: Any, **options: Any) -> None:
        super()._delete(queue, *given, **options)
        self.slot_table.forget(queue)

    def _with(self, name: str, slots: QueueSlots) -> DelayQueue:
        if slots.places == 1:
            return super().queue(name)
        kept = self._slotted.get(name)
        if kept is None or kept[0] != slots:
            found = queue_with(self.publisher, name, slots=slots, options=self.options.engine())
            kept = self._slotted[name] = (slots, found)
        return kept[1]

    def _brief_client(self) -> redis.Redis:
        return ClusterClient(self.pool, patience=0)

    def _after_fork(self) -> None:
        self._slotted.clear()
        super()._after_fork()

    def basic_publish(self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any) -> Any:
        """Publishes a message, once: a second try goes to the slots of the first, also where their number changed."""
        properties = message["properties"]
        self._going_by = properties.pop(UNANSWERED_SLOTS, {})
        try:
            return super().basic_publish(message, exchange, routing_key, **kwargs)
        except Exception:
            properties[UNANSWERED_SLOTS] = self._going_by
            raise
        finally:
            self._going_by = {}

    def _publishing_queue(self, name: str) -> DelayQueue:
        slots = self._going_by.get(name)
        if slots is None:
            slots = self._going_by[name] = self.slots(name)
        return self._with(name, slots)

    # ------------------------------------------------------------ connections

    def unwatch_kind(self, kind: str) -> None:
        """Watches connections of that kind no more."""
        self.poller.unwatch_kind(self, kind)

    def _make_consumer(self, buffer: Buffer) -> ClusterConsumer:
        return ClusterConsumer(self, buffer=buffer, options=self.options.engine(), pool=self.async_pool)

    def _get_pool(self, asynchronous: bool = False) -> ClusterPool:
        return self.make_pool(asynchronous=asynchronous, patience=self.options.failover_seconds, resends=True)

    def make_pool(self, *, patience: float, resends: bool, asynchronous: bool = False) -> ClusterPool:
        """The cluster's connections by the transport's options; see :class:`ClusterPool`. Raises OptionError."""
        params = self._connparams(asynchronous)
        if params.pop("db", 0):
            raise OptionError(ONLY_DATABASE)
        this: Any = self
        this.keyprefix_fanout = this.keyprefix_fanout.format(db=0)
        first = Address(params.pop("host"), params.pop("port"))
        port = self.connection.default_port
        nodes = [url_to_parts(url) for url in self.connection.client.alt]
        seeds = [Address(node.hostname or first.host, node.port or port) for node in nodes] or [first]
        require_hosts(seed.host for seed in seeds)
        params["socket_timeout"] = params.get("socket_timeout") or ANSWER_SECONDS
        params.pop("retry_on_timeout", None)
        return ClusterPool(seeds=seeds, home=HOME, patience=patience, resends=resends, **params)

    def _broker_uri(self, client: Any) -> str:
        # kombu goes on to the next of the URLs after each failure; it is the same cluster.
        return ";".join(sorted(client.alt)) or super()._broker_uri(client)

    def _connect_book(self) -> redis.Redis:
        return client_of(self.make_pool(patience=BOOK_SECONDS, resends=True))


class ClusterTransport(Transport):
    """Celery's broker on a Redis Cluster, database 0. A URL with one node is enough; several are better."""

    Channel = ClusterChannel


class SecureClusterTransport(SecureTransport, ClusterTransport):
    """The same over TLS. The servers' certificates are checked, unless ``ssl_cert_reqs`` says otherwise."""
