"""Where the callbacks of a target go, as aiohttp's connector asks for it, and the bytes that all of them begin with."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict
from yarl import URL

from tasksapp.delivery.callback import Target

#: What would end a header's line, or the header section.
_BREAKS = re.compile(r"[\x00\r\n]")


class Route(aiohttp.ClientRequest):
    """A request that is never sent itself: it knows its URL, its connection key and its headers, for all of a target.

    Made inside the loop, once for a target; raises aiohttp.InvalidURL where the URL is none, ValueError where a header
    would be more than one.

    Args:
        target: where to.
        user_agent: what receivers see.
    """

    def __init__(self, target: Target, *, user_agent: str) -> None:
        # A dict that knows that header names have no case: what is ours replaces what a biz type adds.
        headers = CIMultiDict(target.headers)
        headers.update(
            {"Content-Type": "application/json", "User-Agent": user_agent, "Accept-Encoding": "identity"},
        )
        headers["delayhub-biz-type"] = target.biz_type
        if target.authorization:
            headers["Authorization"] = target.authorization
        super().__init__(target.method, _url(target.url), headers=headers, loop=asyncio.get_running_loop())
        # The requests that are sent have bodies of their own lengths.
        del self.headers["Content-Length"]
        self._key = super().connection_key
        #: The request line and the headers that all callbacks share, as far as they go.
        self.head = f"{self.method} {self.url.raw_path_qs} HTTP/1.1\r\n{header_lines(self.headers)}"

    @property
    def connection_key(self) -> ConnectionKey:
        """Which connections will do."""
        return self._key


def header_lines(headers: Mapping[str, str]) -> str:
    """Headers as they are sent; ValueError where one would be more than one line."""
    for name, value in headers.items():
        if _BREAKS.search(name) or _BREAKS.search(value):
            raise ValueError(f"a header may not hold a line break: {name!r}")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _url(text: str) -> URL:
    try:
        url = URL(text)
    except ValueError as error:
        raise aiohttp.InvalidURL(text) from error
    if url.scheme not in ("http", "https"):
        raise aiohttp.InvalidURL(text)
    return url
