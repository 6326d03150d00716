"""Route: where a target's callbacks go, as aiohttp's connector needs it, and the bytes that all of them begin with."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict
from yarl import URL

from tasksapp.delivery.callback import Target
from tasksapp.delivery.client_tls import context_of
from tasksapp.delivery.request_url import BadUrl, request_url
from tasksapp.delivery.sent_headers import head_of
from tasksapp.delivery.sent_request import shown_headers, shown_line

#: What would end a header's line, or the header section.
_BREAKS = re.compile(r"[\x00\r\n]")


class BadHeader(ValueError):
    """A header that cannot be sent: its name or value would end its line."""


class Route(aiohttp.ClientRequest):
    """The URL, connection key and headers that all callbacks of a target share. It is never sent itself.

    Made inside the loop, once for each target. Raises aiohttp.InvalidURL where the URL is not valid, BadHeader where a
    header holds a line break, BadCertificate where TLS cannot be spoken with what the target has.

    Args:
        target: where to.
        user_agent: what receivers see.
    """

    def __init__(self, target: Target, *, user_agent: str) -> None:
        # Header names have no case, so ours replace those that a biz type adds.
        headers = CIMultiDict(target.headers)
        headers.update(
            {"Content-Type": target.content_type, "User-Agent": user_agent, "Accept-Encoding": "identity"},
        )
        headers["delayhub-biz-type"] = target.biz_type
        if target.authorization:
            headers["Authorization"] = target.authorization
        context = True if target.tls is None else context_of(target.tls)
        super().__init__(target.method, _url(target.url), headers=headers, loop=asyncio.get_running_loop(), ssl=context)
        # Each callback has a body of its own length.
        del self.headers["Content-Length"]
        self._key = super().connection_key
        self.is_untold = target.is_untold
        #: The request line and the headers that all callbacks share.
        self.head = f"{self.method} {self.url.raw_path_qs} HTTP/1.1\r\n{header_lines(self.headers)}"
        #: The same, for the record.
        self.shown_line = shown_line(self.method, self.url)
        self.shown_head = head_of(
            shown_headers(self.headers, unshown=target.unshown),
            line=self.shown_line,
            biz_type=target.biz_type,
            user_agent=user_agent,
        )

    @property
    def connection_key(self) -> ConnectionKey:
        """Which connections can be used."""
        return self._key


def header_lines(headers: Mapping[str, str]) -> str:
    """Headers as they are sent. Raises BadHeader where one holds a line break."""
    for name, value in headers.items():
        if _BREAKS.search(name) or _BREAKS.search(value):
            raise BadHeader(f"a header may not hold a line break: {name!r}")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _url(text: str) -> URL:
    try:
        return request_url(text)
    except BadUrl as error:
        raise aiohttp.InvalidURL(text) from error
