"""kombu's Redis channel with what we change of its own ways: publishes that are tried again, bodies, bindings."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from kombu.log import get_logger
from kombu.utils.objects import cached_property
from redis.exceptions import (
    ClusterCrossSlotError,
    MovedError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from delayhub.errors import OptionError
from delayhub.transport import kombu_versions
from delayhub.transport.options import CONNECT_SECONDS
from delayhub.transport.timer_queue import TimerQueue, known_lanes

logger = get_logger(__name__)

#: A write that changes nothing, after which Redis lets a script go on though its memory is full: what is bound has a
#: name of some bytes, and no worker could start without it, though workers are what empties Redis. No name is empty.
ALLOW_WRITES_WHEN_FULL = "redis.call('SREM', KEYS[1], '')\n"

#: Property of a message whose publish failed: the delivery tag of that try, by which the next one finds what is stored.
UNANSWERED = "x-delayhub-unanswered"


class KombuChannel(kombu_versions.Channel):
    """Exchanges, bindings and fanout on Redis; queues are its subclass's."""

    @property
    def timer_queues(self) -> dict[str, TimerQueue]:
        """Queues that were declared as timer lanes on this connection."""
        declared: dict[str, TimerQueue] = self.connection.timer_queues
        return declared

    def _get_pool(self, asynchronous: bool = False) -> Any:
        pool = super()._get_pool(asynchronous=asynchronous)
        pool.connection_class = leaving_replicas(pool.connection_class)
        return pool

    @cached_property
    def _refresh_binding(self) -> Any:
        return self._create_client().register_script(ALLOW_WRITES_WHEN_FULL + kombu_versions.REFRESH_BINDING)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        try:
            super()._queue_bind(exchange, routing_key, pattern, queue)
        except OutOfMemoryError:
            member = self.sep.join([routing_key or "", pattern or "", queue or ""])
            with self.conn_or_acquire() as client:
                for table in (self.keyprefix_queue, self.keyprefix_binding_permanent):
                    self.add_when_full(client, table % (exchange,), member)

    @staticmethod
    def add_when_full(client: Any, key: str, member: str) -> None:
        """Adds a member to a set of names, also where the memory of Redis is full."""
        client.eval(ALLOW_WRITES_WHEN_FULL + "redis.call('SADD', KEYS[1], ARGV[1])", 1, key, member)

    def basic_publish(self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any) -> Any:
        """Publishes a message, once: kombu may try again, with the same properties, where the reply was lost."""
        try:
            return super().basic_publish(message, exchange, routing_key, **kwargs)
        except Exception:
            properties = message["properties"]
            if "delivery_tag" in properties:
                properties[UNANSWERED] = properties["delivery_tag"]
            raise

    def _inplace_augment_message(self, message: dict[str, Any], exchange: str, routing_key: str) -> None:
        super()._inplace_augment_message(message, exchange, routing_key)
        properties = message["properties"]
        if UNANSWERED in properties:
            properties["delivery_tag"] = properties.pop(UNANSWERED)

    def encode_body(self, body: Any, encoding: str | None = None) -> tuple[Any, str | None]:
        """Text stays as it is: base64 would make it a third longer for nothing."""
        if isinstance(body, str):
            return body, "utf-8"
        encoded: tuple[Any, str | None] = super().encode_body(body, encoding)
        return encoded

    def basic_consume(self, queue: str, *given: Any, **options: Any) -> Any:
        """Consumes from a queue; where it is of a fanout exchange, it has what is published from now on.

        kombu subscribes at the event loop's next turn. What was published until then did not come: a worker did not
        answer an ``inspect ping`` a few ms after it had said that it is ready.
        """
        answer = super().basic_consume(queue, *given, **options)
        if queue in self.active_fanout_queues:
            client = self.subclient
            if client.connection is None:
                client.connection = client.connection_pool.get_connection()
            self._subscribe()
            if queue.endswith(".pidbox") or queue.startswith("celeryev"):
                self.connection._callbacks[queue] = hearing(self.connection._callbacks[queue])
        return answer

    def _receive_one(self, client: Any) -> Any:
        try:
            return super()._receive_one(client)
        except ResponseError as error:
            if not takes_no_writes(error):
                raise
            client.health_check_response_counter = 0  # it answers the ping of a health check: Redis is there
            return None

    def queue_declare(self, *given: Any, **options: Any) -> Any:
        """Declares a queue.

        Raises:
            OptionError: the broker is a node of a cluster and its URL does not say so.
            redis.ConnectionError: Redis takes no writes, which passes: a worker tries again, as after a loss.
        """
        with _refusals_named():
            return super().queue_declare(*given, **options)

    def queue_bind(self, queue: str, exchange: str | None = None, routing_key: str = "", **options: Any) -> Any:
        """Bind a queue to an exchange. Timer lanes stay unbound: only timers go into them.

        Raises what :meth:`queue_declare` raises.
        """
        with _refusals_named():
            if queue in self.timer_queues:
                return self.unbind_lanes(exchange or "")
            return super().queue_bind(queue, exchange, routing_key, **options)

    def unbind_lanes(self, exchange: str) -> None:
        """Remove the bindings of timer lanes from an exchange.

        Workers of earlier releases bound lanes to the project's default exchange by its default key. Each task that was
        published there by that key was copied into the lanes too, and ran twice.
        """
        for binding in super().get_table(exchange):
            if self._is_lane(binding[-1]):
                with self.conn_or_acquire() as client:
                    for table in (self.keyprefix_queue, self.keyprefix_binding_permanent):
                        client.srem(table % (exchange,), self.sep.join(binding))

    def _is_lane(self, queue: str) -> bool:
        return queue in self.timer_queues or queue in known_lanes

    def get_table(self, exchange: str) -> list[tuple[str, ...]]:
        """Return the bindings of an exchange, without those of timer lanes, which workers of earlier releases add."""
        table: list[tuple[str, ...]] = super().get_table(exchange)
        return [binding for binding in table if not self._is_lane(binding[-1])]


def hearing(deliver: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Delivers control commands and events, and leaves out those that cannot be read.

    Celery takes them as they are: a malformed one would end all workers at once, since all hear it.
    """

    def receive(raw: Any) -> Any:
        try:
            return deliver(raw)
        except (RedisError, OSError):
            raise  # the connection is lost
        except Exception as error:
            logger.warning(
                "a control command or event is left out, which cannot be read: %s: %s", type(error).__name__, error
            )
            return None

    return receive


@contextmanager
def _refusals_named() -> Iterator[None]:
    try:
        yield
    except (MovedError, ClusterCrossSlotError):
        raise OptionError(
            "the broker is a node of a Redis Cluster, which has only some of the keys: its scheme is"
            " delayhub-cluster:// (TLS: delayhub-clusters://)"
        ) from None
    except ResponseError as error:
        if takes_no_writes(error):
            raise redis.ConnectionError(f"Redis takes no writes: {error}") from error
        raise


def takes_no_writes(error: ResponseError) -> bool:
    """Whether Redis refuses every write, and every ping too, since it could not write to its disk."""
    return "MISCONF" in str(error)


class LeavesReplicas:
    """Put before one of redis-py's connection classes: see :func:`leaving_replicas`."""

    def read_response(self, *given: Any, **options: Any) -> Any:
        """The next reply.

        Raises:
            redis.ConnectionError: the server is a replica, which has not done what was asked; the connection is closed.
        """
        try:
            return super().read_response(*given, **options)  # type: ignore[misc]  # the class that this is put before
        except ResponseError as error:
            # Before Redis 7, what a script was refused is in the text of another error.
            if not isinstance(error, ReadOnlyError) and "-READONLY" not in str(error):
                raise
            this: Any = self
            this.disconnect()
            raise redis.ConnectionError(f"the server is a replica now: {error}") from error


def leaving_replicas(plain: type[redis.Connection]) -> type[redis.Connection]:
    """The class of connections that end where their server has become a replica.

    Redis does not close the connections to a master that it makes a replica. Its address may be another server's by
    then, as that of a managed Redis is after a failover, and who connects anew finds that one.
    """
    return type(plain.__name__, (LeavesReplicas, plain), {})


HINT = "for a port without TLS, write delayhub:// in place of delayhubs://, and no broker_use_ssl"


class NoTls(redis.RedisError):
    """The other side does not speak TLS. Not one of the errors after which redis-py connects again at once."""


class TlsConnection(redis.SSLConnection):
    """redis-py's, whose handshake ends after five seconds, or the option ``socket_connect_timeout``."""

    def __init__(self, *, ssl_cert_reqs: Any = "required", **options: Any) -> None:
        if ssl_cert_reqs in {None, "none", ssl.CERT_NONE}:
            options["ssl_check_hostname"] = False  # redis-py 6 checks it all the same, and fails
        super().__init__(ssl_cert_reqs=ssl_cert_reqs, **options)

    def connect(self) -> None:
        """Connects.

        Raises:
            redis.ConnectionError: there is no connection; the message says so where the other side speaks no TLS.
        """
        try:
            super().connect()  # type: ignore[no-untyped-call]  # redis-py has no types here
        except NoTls as error:
            raise redis.ConnectionError(str(error)) from error

    def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
        # A Redis without TLS takes our part of the handshake for the first part of a command, and waits for the rest.
        seconds = self.socket_connect_timeout or CONNECT_SECONDS
        sock.settimeout(seconds)
        try:
            wrapped: Any = super()._wrap_socket_with_ssl(sock)  # type: ignore[no-untyped-call]  # nor here
        except TimeoutError as error:
            raise NoTls(f"{self._place()} did not answer a TLS handshake within {seconds:g} s: {HINT}") from error
        except ssl.SSLError as error:
            if error.reason != "WRONG_VERSION_NUMBER":
                raise
            raise NoTls(f"{self._place()} answers without TLS: {HINT}") from error
        wrapped.settimeout(self.socket_timeout)
        return wrapped  # type: ignore[no-any-return]  # nor here

    def _place(self) -> str:
        return f"{self.host}:{self.port}"
