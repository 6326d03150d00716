"""Every private member of kombu (and redis-py) that the transport relies on, so that an upgrade fails loudly."""

import ast
import inspect
from functools import cache

import pytest
from kombu import Connection as KombuConnection
from kombu.asynchronous.hub import Hub
from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from redis import Connection, ConnectionPool, SSLConnection

from delayhub.schemes import SCHEMES
from delayhub.transport import kombu_versions
from delayhub.transport.options import KOMBU_OPTIONS
from tests.celery_versions import KOMBU
from tests.repository import ROOT

CHANNEL = [
    "_after_fork", "_basic_cancel", "_connparams", "_create_client", "_delete", "_expires", "_fanout_queues", "_get",
    "_get_pool",
    "_has_queue", "_maybe_update_queues_expire", "_new_queue", "_pool", "_purge", "_put", "_put_fanout",
    "_receive", "_size", "_subscribe",
    "_active_queues", "_tag_to_queue", "active_fanout_queues", "active_queues", "async_pool", "pool", "priority_steps",
    "create_publish_batch", "encode_body", "from_transport_options", "maybe_refresh_binding_expiry",
    "_lookup", "_q_for_pri", "_qos", "global_keyprefix", "unacked_key", "unacked_index_key", "socket_timeout",
    "socket_connect_timeout",
    "auto_delete_queues", "conn_or_acquire", "keyprefix_queue", "keyprefix_binding_permanent", "sep",
]  # fmt: skip
POLLER = [
    "_channels", "_chan_to_sock", "_fd_to_chan", "_in_protected_read", "_register_LISTEN", "after_read", "eventflags",
    "fds",
    "get", "handle_event", "maybe_check_brpop_health", "maybe_refresh_binding_expiry", "maybe_restore_messages",
    "on_poll_init", "on_poll_start", "on_readable", "poller",
]  # fmt: skip
SENTINEL = [
    "_legacy_keyprefix_fanout",
    "_sentinel_managed_pool",
    "_sentinel_manager",
    "_async_sentinel_manager",
    "connection_class_ssl",
]
#: Not there before kombu 5.7: what is called by its own code only, and attributes that we set for it.
NEW = {
    *("_maybe_update_queues_expire", "create_publish_batch", "maybe_refresh_binding_expiry"),
    *("_legacy_keyprefix_fanout", "_sentinel_manager", "_async_sentinel_manager"),
}
QOS = ["_delivered", "_dirty", "_flush", "can_consume", "can_consume_max_estimate", "prefetch_count", "restore_unacked"]
TRANSPORT = ["_callbacks", "cycle"]
#: Of Celery's app: see the contract of the Celery support.
CELERY = ["_conf", "_connection", "_pending_defaults", "_tasks", "_get_app", "_TO_OLD_KEY", "_context"]
REGISTRY = ["_encoders"]
BATCH = ["add", "publish", "flush", "discard", "close", "pipeline"]


def mentions(owner: type, name: str) -> bool:
    """Whether a class has a member, or sets it in some method."""
    return hasattr(owner, name) or any(f"self.{name}" in source(kind) for kind in owner.__mro__[:-1])


source = cache(inspect.getsource)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(kombu_versions.Channel, name) for name in CHANNEL if KOMBU >= (5, 7) or name not in NEW]
    + [(kombu_versions.Poller, name) for name in POLLER]
    + [(redis.SentinelChannel, name) for name in SENTINEL if KOMBU >= (5, 7) or name not in NEW]
    + [(virtual.QoS, name) for name in QOS]
    + [(kombu_versions.PublishBatch, name) for name in BATCH if KOMBU >= (5, 7)]
    + [(virtual.Transport, name) for name in TRANSPORT]
    + [(Hub, name) for name in ("add_reader", "remove", "call_later", "readers", "on_tick", "timer")]
    + [
        (Connection, name)
        for name in ("_sock", "pack_commands", "send_packed_command", "send_command", "read_response")
    ]
    + [(ConnectionPool, name) for name in ("get_connection", "connection_kwargs", "disconnect")],
)
def test_what_we_rely_on_is_there(owner: type, name: str) -> None:
    assert mentions(owner, name)


def test_no_private_member_is_used_that_is_not_named_here() -> None:
    named = {
        *CHANNEL,
        *POLLER,
        *SENTINEL,
        *QOS,
        *TRANSPORT,
        *BATCH,
        *REGISTRY,
        *CELERY,
        "_sock",
        *("_asdict", "_replace"),  # a named tuple's
        "_exit",  # of the module os
    }
    folder = ROOT / "delayhub"
    used: dict[str, str] = {}
    ours: set[str] = set()
    for path in [*(folder / "transport").rglob("*.py"), *(folder / "celery_support").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                ours.add(node.name)
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
                used[node.attr] = f"{path.name}:{node.lineno}"
                if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
                    ours.add(node.attr)

    assert {name: where for name, where in used.items() if name not in named | ours} == {}


def test_kombu_has_no_transport_under_our_names() -> None:
    assert all(value.startswith("delayhub.") for name, value in TRANSPORT_ALIASES.items() if name in SCHEMES)


def test_the_options_that_are_known_are_read_by_kombu() -> None:
    read = "".join(map(inspect.getsource, (KombuConnection, virtual.Transport, redis.Transport)))
    names = KOMBU_OPTIONS.difference(redis.SentinelChannel.from_transport_options)
    brought_by_newest = {"reauth_check_interval"} if KOMBU < (5, 7) else set()

    assert {name for name in names if f"'{name}'" not in read} == brought_by_newest


def test_a_handshake_is_one_step_of_connecting() -> None:
    assert "self._wrap_socket_with_ssl(sock)" in inspect.getsource(SSLConnection._connect)


def test_the_poller_finds_a_connection_by_the_attribute_that_a_wire_has() -> None:
    kind = redis.Transport if KOMBU >= (5, 7) else kombu_versions.OlderPoller
    source = inspect.getsource(kind)

    assert ".connection is connection" in source
    assert "_chan_to_sock" in source
