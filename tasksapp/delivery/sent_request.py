"""The request as it was sent, for the record of an attempt: with everything but its secrets.

What callbacks of a target share is masked once, in the route; what is kept of the rest is in ``sent_headers``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import NamedTuple

from yarl import URL

#: Stands where a secret was.
MASK = "(hidden)"
#: Words in the names of headers and of the query's parameters whose values are secrets.
_SECRET = re.compile(r"auth|cookie|credential|key|passw|secret|session|sig|token", re.IGNORECASE)
#: What names the scheme of an Authorization header, which is no secret.
_SCHEME = re.compile(r"(Basic|Bearer) ")
#: Headers of our own that have such a word and hold no secret.
_OPEN = frozenset({"delayhub-biz-type", "webhook-id", "webhook-timestamp"})
#: How much is kept of a header, and of the request line.
MAX_VALUE_LENGTH, MAX_LINE_LENGTH = 500, 2_100


class SentRequest(NamedTuple):
    """A request without its body, which the job's row has.

    Args:
        line: method and address.
        headers: as sent, secrets masked.
    """

    line: str
    headers: dict[str, str]


def shown_headers(headers: Mapping[str, str], *, unshown: Container[str] = frozenset()) -> dict[str, str]:
    """Headers as people may see them.

    Args:
        headers: as they are sent.
        unshown: names, in lower case, of those whose values are never shown here, whatever the names say.
    """
    return {name: MASK if name.lower() in unshown else shown_value(name, value) for name, value in headers.items()}


def shown_value(name: str, value: str) -> str:
    """A header's value as people may see it: masked where the name says that it is a secret."""
    if not is_secret(name):
        return value[:MAX_VALUE_LENGTH]
    scheme = _SCHEME.match(value)
    return f"{scheme.group() if scheme else ''}{MASK}"


def is_secret(name: str) -> bool:
    """Whether a header's name says that its value is a secret."""
    return name.lower() not in _OPEN and _SECRET.search(name) is not None


def shown_line(method: str, url: URL) -> str:
    """Method and address, with the values of secret parameters masked."""
    return f"{method} {shown_address(url)}"[:MAX_LINE_LENGTH]


def shown_address(url: URL) -> str:
    """The address, with the values of secret parameters masked."""
    if any(_SECRET.search(name) for name in url.query):
        url = url.with_query([(name, MASK if _SECRET.search(name) else value) for name, value in url.query.items()])
    return str(url)
