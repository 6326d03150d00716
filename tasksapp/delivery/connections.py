"""The wire to receivers: one request and its answer at a time, over connections that are kept for the next.

aiohttp looks names up, dials, speaks TLS, keeps connections and parses answers. Its session, its request and its
response are left out: they cost two thirds of a request (100 of 150 µs) for redirects, cookies, proxies and streamed
bodies, which a callback must not have.
"""

from __future__ import annotations

from contextvars import ContextVar
from enum import Enum
from typing import Any, NamedTuple

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDictProxy

from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.route import Route

#: How long a connection that nobody uses is kept, in seconds; servers close theirs after 60 or more.
KEEP_SECONDS = 15.0
#: How long an answer of DNS is believed.
DNS_SECONDS = 5

_NO_LIMIT = aiohttp.ClientTimeout(total=None)


class Way(Enum):
    """How far a request came."""

    REUSED = "on a connection that was there"
    CONNECTING = "still connecting, so nothing is sent"
    FRESH = "on a connection of its own"


#: Of the request that this task is sending. (Tracing would tell the same, for a tenth of what a callback costs.)
way: ContextVar[Way] = ContextVar("way", default=Way.CONNECTING)


class Answer(NamedTuple):
    """What came back."""

    status_code: int
    headers: CIMultiDictProxy[str]
    body: bytes


class Wire:
    """Connections of one kind. Made, used and closed inside one event loop.

    Args:
        guard: says which addresses may be dialled.
        keep: whether connections are kept and used again.
        answer_bytes: how much of an answer's body is read.
    """

    def __init__(self, guard: AddressGuard, *, keep: bool, answer_bytes: int) -> None:
        options: dict[str, Any] = {"keepalive_timeout": KEEP_SECONDS} if keep else {"force_close": True}
        # The dispatcher has caps of its own; a limit here would count waiting as sending.
        self._connector = _Connector(limit=0, socket_factory=guard.make_socket, ttl_dns_cache=DNS_SECONDS, **options)
        self._last_header = "" if keep else "Connection: close\r\n"
        self._answer_bytes = answer_bytes

    async def close(self) -> None:
        """Closes all connections."""
        await self._connector.close()

    async def exchange(self, route: Route, headers: str, body: bytes) -> Answer:
        """Sends one request; gives back its answer, with the body up to the cap.

        No redirect is followed, nothing is unpacked, nothing is sent twice. It waits without end, so that the caller's
        timeout covers the whole.

        Args:
            route: where to.
            headers: header lines of this request alone.
            body: its body.
        """
        request = f"{route.head}{headers}{self._last_header}Content-Length: {len(body)}\r\n\r\n".encode() + body
        connection = await self._connect(route)
        try:
            answer, whole = await self._converse(connection, request)
        except BaseException:
            connection.close()
            raise
        if whole:
            connection.release()
        else:
            connection.close()
        return answer

    async def _connect(self, route: Route) -> aiohttp.connector.Connection:
        way.set(Way.REUSED)
        connection = await self._connector.connect(route, traces=[], timeout=_NO_LIMIT)
        while way.get() is Way.REUSED and connection.protocol is not None and connection.protocol.should_close:
            # Something came while nobody had asked: it is no answer to what is sent next.
            connection.close()
            connection = await self._connector.connect(route, traces=[], timeout=_NO_LIMIT)
        return connection

    async def _converse(self, connection: aiohttp.connector.Connection, request: bytes) -> tuple[Answer, bool]:
        """The answer, and whether the connection is free again: all was sent, and all that came was read."""
        protocol = connection.protocol
        assert protocol is not None
        transport = protocol.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection was closed before it was used")
        protocol.set_response_params(read_until_eof=True, auto_decompress=False)
        transport.write(request)
        try:
            message, content = await protocol.read()
            while 100 <= message.code < 200 and message.code != 101:
                message, content = await protocol.read()
        except HttpProcessingError as error:
            raise aiohttp.ClientPayloadError(f"not an HTTP answer: {error.message}") from error
        parts: list[bytes] = []
        room = self._answer_bytes
        while room > 0 and not content.at_eof():
            part = await content.read(room)
            parts.append(part)
            room -= len(part)
        whole = content.at_eof() and not transport.get_write_buffer_size()
        return Answer(message.code, message.headers, b"".join(parts)), whole


class _Connector(aiohttp.TCPConnector):
    """Notes whether a request got a connection that was there, and whether it got one at all."""

    async def _create_connection(self, *args: Any, **options: Any) -> Any:
        way.set(Way.CONNECTING)
        made = await super()._create_connection(*args, **options)
        way.set(Way.FRESH)
        return made
