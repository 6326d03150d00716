"""Says that something of the API will go: ``Deprecation`` (RFC 9745), ``Sunset`` (RFC 8594) and a link for people."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.http import HttpResponseBase
from django.utils.http import http_date


class Deprecated(NamedTuple):
    """Something of the API that will go.

    Args:
        since: from when on it is deprecated.
        link: the page that says what to use instead, relative to the API's prefix.
        sunset: when it may be gone; None while that is open.
    """

    since: datetime
    link: str
    sunset: datetime | None = None


def mark(response: HttpResponseBase, deprecated: Deprecated, *, prefix: str) -> None:
    """Adds the headers to the answer to a request that used it.

    Args:
        response: the answer.
        deprecated: what was used.
        prefix: the API's prefix, such as ``/api/``.
    """
    response.headers["Deprecation"] = f"@{int(deprecated.since.timestamp())}"
    response.headers["Link"] = f'<{prefix}{deprecated.link}>; rel="deprecation"; type="text/html"'
    if deprecated.sunset is not None:
        response.headers["Sunset"] = http_date(deprecated.sunset.timestamp())
