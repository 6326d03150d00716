"""Workers of kombu's own Redis transport, beside ours or on the broker that is to be moved."""

from __future__ import annotations

from typing import Any, cast

from celery import Celery
from kombu import Connection
from kombu.pidbox import Mailbox

from delayhub.errors import OptionError

#: kombu's own transport for each of ours; Celery's result backends are named so, too.
KOMBUS = {"delayhub": "redis", "delayhubs": "rediss", "delayhub-sentinel": "sentinel"}
#: The schemes of kombu's own transport.
SCHEMES = ("redis", "rediss", "redis+socket", "sentinel")

#: How long they have to answer; one that runs a task in its only thread does not.
ANSWER_SECONDS = 1.0


def kombu_connection(app: Celery, url: str | None) -> Any:
    """A connection of kombu's own transport, not open yet.

    Args:
        app: whose transport options, prefix among them, it has.
        url: the broker's ``redis://`` URL; None for the Redis of the app's own broker.

    Raises:
        OptionError: it is the URL of something else, or the app's own broker is a cluster.
    """
    if url is not None:
        scheme, found, _ = url.partition("://")
        if not found or scheme not in SCHEMES:
            raise OptionError(f"the other broker is a URL such as redis://host:6379/0, got {url!r}")
        return Connection(url, transport_options=app.conf.broker_transport_options)
    ours: Any = app.connection_for_write()
    if ours.transport_cls not in KOMBUS:
        raise OptionError(f"kombu's own transport does not run on {ours.transport_cls}://: name a redis:// server")
    kombus = KOMBUS[ours.transport_cls]
    # All of them: kombu asks the sentinels, and goes on to the servers, whose URLs have its own scheme.
    others = [f"{kombus}://{url.partition('://')[2]}" for url in ours.alt]
    return ours.clone(transport=kombus, alternates=others)


def kombu_workers(app: Celery, url: str | None = None) -> dict[str, list[str]]:
    """Return the workers that answer over kombu's own transport, each with the ids that were revoked there.

    Workers of ours get the question too, but answer over our transport. One that answers with an error is there, too.
    """
    conf = app.conf
    if url is None and cast("Any", app.connection_for_write()).transport_cls not in KOMBUS:
        return {}  # a cluster, on which kombu's own transport does not run
    mailbox: Any = Mailbox(
        conf.control_exchange, type="fanout", accept=conf.accept_content, serializer=conf.task_serializer
    )
    with kombu_connection(app, url) as connection:
        replies = mailbox(connection).multi_call("revoked", timeout=ANSWER_SECONDS)
    found = {name: ids for reply in replies for name, ids in sorted(reply.items())}
    return {name: list(ids) if isinstance(ids, list) else [] for name, ids in found.items()}
