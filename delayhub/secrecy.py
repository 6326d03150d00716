"""Secrecy: a mark on an option or a column that says what pages, answers and messages may show of its value."""

from __future__ import annotations

import re
from enum import Enum
from urllib.parse import urlsplit

#: What stands in place of a value that is not shown.
NOT_SHOWN = "(not shown)"

#: A host, or several with commas between them, each perhaps with a port.
_HOSTS = re.compile(r"[\w.:,\[\]-]*")


class Secrecy(Enum):
    """What may be shown of a value. A text without a mark is not shown: a new option is a secret until it says more."""

    #: All of it.
    OPEN = "open"
    #: Of a URL scheme, host and port: the rest may hold a password, or be one, as in the URL of a chat's webhook.
    HOST = "host"
    #: Of a URL all but the values of parameters whose names say that they are secrets.
    PARAMETERS = "parameters"
    #: Only whether there is one.
    SECRET = "secret"  # noqa: S105  a word, no secret


def is_shown(value: object, secrecy: Secrecy | None) -> bool:
    """Whether all of the value may be shown: numbers and truth values always, texts where they are marked as open."""
    return secrecy is Secrecy.OPEN or value is None or isinstance(value, bool | int | float)


def host_of(url: str) -> str:
    """Scheme, host and port of a URL: ``redis://host:6379`` of ``redis://user:password@host:6379/0``.

    :data:`NOT_SHOWN` where they cannot be told from the rest, as in a URL whose password holds a slash.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return NOT_SHOWN
    hosts = parts.netloc.rpartition("@")[2]
    behind = url.partition(parts.netloc)[2] if parts.netloc else url
    if not parts.scheme or "@" in behind or not _HOSTS.fullmatch(hosts):
        return NOT_SHOWN
    return f"{parts.scheme}://{hosts}"
