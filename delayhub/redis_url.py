"""Which Redis server a broker's URL means, for clients other than kombu."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from delayhub.errors import OptionError

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
