"""What docs/celery/options.md says of options of kombu's Redis transport, compared with that transport."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import redis
from kombu import Connection, Exchange, Queue
from kombu.transport.virtual.base import UndeliverableWarning
from redis.credentials import UsernamePasswordCredentialProvider

from delayhub.engine import DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.celery_versions import needs_newest

pytestmark = needs_newest

#: Those by which connections to Redis are made.
OF_CONNECTIONS: dict[str, Any] = {
    "socket_timeout": 7.0,
    "socket_connect_timeout": 8.0,
    "socket_keepalive": True,
    "socket_keepalive_options": {socket.TCP_KEEPCNT: 3},
    "max_connections": 23,
    "health_check_interval": 9,
    "retry_on_timeout": True,
    "client_name": "shop",
}
#: Those by which kombu connects again, and publishes again.
OF_RETRIES: dict[str, Any] = {
    "max_retries": 5,
    "interval_start": 0.5,
    "interval_step": 0.25,
    "interval_max": 3.0,
    "connect_retries_timeout": 11.0,
    "callback": print,
    "errback": repr,
}
#: Those of timers in an event loop, and their seconds.
OF_TIMERS: dict[str, int] = {"health_check_interval": 8, "reauth_check_interval": 13}
#: Those that are about kombu's own way of holding messages.
OF_HOLDING: dict[str, Any] = {
    "visibility_timeout": 1,
    "unacked_key": "held",
    "unacked_index_key": "held_index",
    "unacked_mutex_key": "held_mutex",
    "unacked_mutex_expire": 1,
    "unacked_restore_limit": 1,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}

On = Callable[..., Connection]


@pytest.fixture
def on(redis_server: RedisServer, redis_client: redis.Redis) -> On:
    """A connection by a scheme, with transport options; its server holds nothing."""

    def connect(scheme: str, path: str = "", **options: Any) -> Connection:
        redis_client.flushall()
        url = redis_server.url.replace("redis://", f"{scheme}://") if not path else f"{scheme}://{path}"
        return Connection(url, transport_options=options)

    return connect


def both(look: Callable[[Connection], Any], on: On, **options: Any) -> list[Any]:
    """Return what is seen on kombu's own transport and on ours, and on kombu's without the options."""
    found = []
    for scheme, given in (("redis", options), ("delayhub", options), ("redis", {})):
        with on(scheme, **given) as connection:
            found.append(look(connection))
    return found


@pytest.mark.parametrize("name", OF_CONNECTIONS)
def test_connections_are_made_as_kombus(name: str, on: On) -> None:
    kombus, ours, plain = both(
        lambda connection: (
            connection.default_channel.pool.connection_kwargs.get(name)
            if name != "max_connections"
            else connection.default_channel.pool.max_connections
        ),
        on,
        **{name: OF_CONNECTIONS[name]},
    )

    assert kombus == ours == OF_CONNECTIONS[name] != plain


@pytest.mark.parametrize("name", OF_RETRIES)
def test_it_is_tried_again_as_with_kombus(name: str, on: On) -> None:
    kombus, ours, plain = both(lambda connection: connection._extract_failover_opts(), on, **{name: OF_RETRIES[name]})

    assert kombus == ours != plain


@pytest.mark.parametrize("name", OF_TIMERS)
def test_timers_of_an_event_loop_are_those_of_kombu(name: str, on: On) -> None:
    def look(connection: Connection) -> bool:
        loop = Loop()
        connection.transport.register_with_event_loop(connection.connection, loop)
        return OF_TIMERS[name] in loop.seconds

    assert both(look, on, **{name: OF_TIMERS[name]}) == [True, True, False]


class Loop:
    """An event loop that notes how often it is to call something."""

    poller = None

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.on_tick: set[Any] = set()

    def call_repeatedly(self, seconds: float, *_: Any) -> None:
        self.seconds.append(seconds)

    add_reader = remove_reader = remove = lambda *_: None


def test_polling_interval_is_that_of_kombu(on: On) -> None:
    assert both(lambda connection: connection.transport.polling_interval, on, polling_interval=5) == [5, 5, None]


def test_priority_steps_are_those_of_kombu(on: On) -> None:
    def look(connection: Connection) -> list[int]:
        with closing(connection.SimpleQueue("q")) as queue:
            for number, priority in enumerate([9, 2, 1, 0]):
                queue.put(number, priority=priority)
            got = []
            for _ in range(4):
                message = queue.get(timeout=5)
                got.append(message.payload)
                message.ack()
            return got

    assert both(look, on, priority_steps=[0, 2]) == [[2, 3, 0, 1], [2, 3, 0, 1], [1, 2, 3, 0]]


def test_a_global_keyprefix_is_before_every_key(on: On, redis_client: redis.Redis) -> None:
    def look(connection: Connection) -> bool:
        connection.SimpleQueue("q").put(1)
        return all(key.startswith(b"shop:") for key in redis_client.scan_iter())

    assert both(look, on, global_keyprefix="shop:") == [True, True, False]


def test_bindings_have_the_separator(on: On, redis_client: redis.Redis) -> None:
    def look(connection: Connection) -> Any:
        queue = Queue("q", Exchange("shop", type="topic"), routing_key="a.*")
        queue(connection.default_channel).declare()
        connection.Producer().publish(1, exchange="shop", routing_key="a.b")
        found = queue(connection.default_channel).get()
        return redis_client.smembers("_kombu.binding.shop"), found and found.payload

    kombus, ours, plain = both(look, on, sep="|")

    assert kombus == ours != plain


@pytest.mark.parametrize(
    ("name", "value"), [("fanout_prefix", False), ("fanout_prefix", "news:"), ("fanout_patterns", False)]
)
def test_broadcasts_use_the_channels_of_kombu(name: str, value: Any, on: On, redis_client: redis.Redis) -> None:
    def look(connection: Connection) -> Any:
        channel = connection.default_channel
        queue = Queue("listener", Exchange("news", type="fanout"), routing_key="x.y")(channel)
        queue.declare()
        with connection.Consumer([queue], callbacks=[lambda *_: None]), redis_client.pubsub() as heard:  # type: ignore[no-untyped-call]  # of redis-py
            heard.psubscribe("*")
            assert heard.get_message(timeout=5)["type"] == "psubscribe"  # so that it is in force
            connection.Producer().publish("story", exchange="news", routing_key="x.y")
            return heard.get_message(timeout=5)["channel"]

    kombus, ours, plain = both(look, on, **{name: value})

    assert kombus == ours != plain


def test_a_message_for_no_queue_goes_to_the_deadletter_queue(on: On) -> None:
    def look(connection: Connection) -> Any:
        with warnings.catch_warnings(action="ignore", category=UndeliverableWarning):
            connection.Producer().publish("lost", exchange="nowhere", routing_key="x")
        found = Queue("dead")(connection.default_channel).get()
        return found and found.payload

    assert both(look, on, deadletter_queue="dead") == ["lost", "lost", None]


@pytest.mark.parametrize("value", ["base64", None])
def test_text_is_stored_as_text_with_any_body_encoding(value: str | None, on: On) -> None:
    def look(connection: Connection) -> Any:
        connection.SimpleQueue("q").put({"a": 1})
        message = connection.SimpleQueue("q").get(timeout=5)
        return message.properties.get("body_encoding"), message.payload

    kombus, ours, _ = both(look, on, body_encoding=value)

    assert (kombus, ours) == ((value, {"a": 1}), ("utf-8", {"a": 1}))


@pytest.mark.parametrize("name", OF_HOLDING)
def test_options_of_kombus_way_of_holding_change_nothing(name: str, on: On, redis_client: redis.Redis) -> None:
    with on("delayhub", **OF_HOLDING, lease_seconds=30) as connection:
        connection.SimpleQueue("q").put(1)
        message = connection.SimpleQueue("q").get(timeout=5)
        channel = connection.default_channel
        channel.qos.restore_visible(num=1)

        (held,) = DelayQueue(redis_client, "q").list("leased", limit=1)
        now_ms = int(redis_client.time()[0]) * 1000
        assert held.at_ms - now_ms > 25_000
        assert getattr(channel, name) == OF_HOLDING[name]
        assert [key for key in redis_client.scan_iter() if key.startswith((b"held", b"unacked"))] == []
        message.ack()


@pytest.mark.parametrize("is_by_provider", [False, True])
def test_parts_of_the_address_are_those_of_kombu(is_by_provider: bool, on: On, redis_server: RedisServer) -> None:
    with redis_server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all")
    try:
        for scheme in ("redis", "delayhub"):
            address = f"127.0.0.1:{redis_server.port}/3"
            with on(scheme, address if is_by_provider else f"shop:secret@{address}") as connection:
                if is_by_provider:
                    connection.credential_provider = UsernamePasswordCredentialProvider("shop", "secret")
                client = connection.default_channel.client
                assert client.execute_command("ACL", "WHOAMI") in (b"shop", "shop")
                assert client.client_info()["db"] in ("3", 3)
    finally:
        with redis_server.client() as admin:
            admin.execute_command("ACL", "DELUSER", "shop")
