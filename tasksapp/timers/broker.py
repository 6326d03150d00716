"""The broker that holds the timers: Celery's own, unless ``DELAYHUB["REDIS_URL"]`` names its server."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, urlencode
from weakref import WeakKeyDictionary

import redis
from celery import Celery, _state
from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from kombu import Connection
from redis.backoff import NoBackoff
from redis.retry import Retry

import delayhub.transport
from delayhub.errors import OptionError
from delayhub.redis_cluster import ClusterPool, cluster_pool, is_cluster_url
from delayhub.transport.broker_pool import UNBOUNDED, broker_pool
from tasksapp.conf import options

NO_BROKER = (
    "no broker is known, so timers have no place: import your Celery app in your project's __init__.py,"
    " or set CELERY_BROKER_URL to delayhub://host:6379/0"
)
#: Schemes of brokers on one Redis server, and what redis-py calls them.
_SCHEMES = {
    "delayhub": "redis",
    "delayhubs": "rediss",
    "delayhub+socket": "unix",
    "redis": "redis",
    "rediss": "rediss",
    "redis+socket": "unix",
    "unix": "unix",
}
#: What kombu accepts for redis-py's values of ``ssl_cert_reqs``.
_CERT_REQS = {"CERT_NONE": "none", "CERT_OPTIONAL": "optional", "CERT_REQUIRED": "required"}


def timer_pool(*, timeout_seconds: float) -> redis.ConnectionPool:
    """A pool of connections to the Redis server, or the cluster, that holds the timers; nothing is connected yet.

    Raises OptionError where the settings do not name one Redis server, or one cluster.
    """
    url = options().redis_url
    if not url:
        return broker_pool(broker(), timeout_seconds=timeout_seconds)
    pool: redis.ConnectionPool
    if is_cluster_url(url):
        pool = cluster_pool(url, timeout_seconds=timeout_seconds)
    else:
        pool = redis.ConnectionPool.from_url(
            redis_url(url),
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), retries=0),
            protocol=2,
        )
    # redis-py 8 allows a hundred; a web server has a thread for each request.
    pool.max_connections = UNBOUNDED
    return pool


def timer_prefix() -> str:
    """What every Redis key of the timers begins with. Raises OptionError where no broker is known."""
    known = options()
    if known.key_prefix is not None:
        return known.key_prefix
    if known.redis_url and celery_app() is None:
        return str(_django("TRANSPORT_OPTIONS", {}).get("global_keyprefix", ""))
    return str((broker().transport_options or {}).get("global_keyprefix", ""))


def address_of(pool: redis.ConnectionPool) -> str | None:
    """Server and database, without credentials; of a cluster the nodes of the URL. None behind sentinels."""
    if isinstance(pool, ClusterPool):
        return f"cluster {', '.join(map(str, sorted(pool.map.seeds)))}"
    known = pool.connection_kwargs
    place = known.get("path") or (f"{known['host']}:{known.get('port', 6379)}" if "host" in known else None)
    return place and f"{place}/{known.get('db') or 0}"


def broker() -> Connection:
    """Celery's broker, as kombu knows it; nothing is connected.

    It is the one of the process' Celery app, wherever that has its configuration from. A process that imports no app
    goes by ``CELERY_BROKER_URL`` in the environment or in Django's settings.

    Raises OptionError where no broker is known.
    """
    delayhub.transport.register()
    app = celery_app()
    try:
        if app is not None:
            return app.connection_for_write()
        url = os.environ.get("CELERY_BROKER_URL") or _django("URL", None)
        if not url:
            raise OptionError(NO_BROKER)
        return Connection(url, transport_options=_django("TRANSPORT_OPTIONS", {}), ssl=_django("USE_SSL", False))
    except KeyError as error:  # kombu knows no transport of that scheme
        raise OptionError(f"{error.args[0]}: write the broker's URL as delayhub://host:6379/0") from None
    except TypeError as error:  # kombu takes what stands behind the "?" as arguments of its own
        raise OptionError(f"the broker's URL has an option that is not known: {error}") from None


def celery_app() -> Celery | None:
    """The Celery app of this process that has a broker; None where there is none.

    Celery's current app belongs to the thread that made it; other threads, such as those of a web server, get the
    process' only one.
    """
    state: Any = _state  # asked directly, since asking Celery makes an app where there is none
    current: Celery | None = state._tls.current_app or state.default_app
    apps = [current] if current is not None and not _is_fallback(current) else active_apps()
    return apps[0] if len(apps) == 1 and _has_broker(apps[0]) else None


def active_apps() -> list[Celery]:
    """The Celery apps that this process has made; not the one that Celery makes by itself."""
    state: Any = _state
    return sorted((app for app in state._get_active_apps() if not _is_fallback(app)), key=lambda app: str(app.main))


def _is_fallback(app: Any) -> bool:
    """Whether Celery made the app by itself, since no other was current."""
    return app.main == "default" and not app.set_as_current


#: Whether each Celery app has a broker; asking its configuration takes longer.
_with_broker: WeakKeyDictionary[Celery, bool] = WeakKeyDictionary()


def _has_broker(app: Celery) -> bool:
    known = _with_broker.get(app)
    if known is None:
        known = _with_broker[app] = bool(app.conf.broker_write_url)
    return known


def _django(name: str, default: Any) -> Any:
    """Celery's broker setting of that name in Django's settings."""
    return getattr(settings, f"CELERY_BROKER_{name}", default)


@receiver(setting_changed, dispatch_uid="tasksapp.timers.broker")
def _forget(*, setting: str, **_: Any) -> None:
    if setting.startswith("CELERY_BROKER"):
        _with_broker.clear()


def redis_url(broker_url: str) -> str:
    """The URL by which redis-py reaches a broker's server: ``redis://host/0`` of ``delayhub://host/0``.

    TLS (``delayhubs://``), Unix sockets (``delayhub+socket:///run/redis.sock``) and Redis' own URLs will do too.

    Raises:
        OptionError: the URL does not name one Redis server. The message does not repeat it: it may hold a password.
    """
    scheme, separator, rest = broker_url.partition("://")
    if not separator:
        raise OptionError("a broker URL begins with a scheme such as delayhub://, and this one does not")
    if "sentinel" in scheme:
        raise OptionError(
            f"{scheme}:// names sentinels, and here the Redis server itself is needed: redis://host:port/0"
        )
    if scheme not in _SCHEMES:
        raise OptionError(f"{scheme}:// is no broker on Redis: use delayhub:// or delayhubs:// (TLS)")
    if ";" in rest:
        raise OptionError(f"one Redis server is needed here, and the {scheme}:// URL names several")
    address, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    if "virtual_host" in options:  # kombu's word for the database
        options["db"] = options.pop("virtual_host")
    if "ssl_cert_reqs" in options:
        options["ssl_cert_reqs"] = _CERT_REQS.get(options["ssl_cert_reqs"], options["ssl_cert_reqs"])
    return f"{_SCHEMES[scheme]}://{address}" + (f"?{urlencode(options)}" if options else "")
