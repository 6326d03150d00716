"""Connections to receivers: one request and its answer at a time, over connections that are kept for the next.

aiohttp resolves names, connects, speaks TLS, keeps connections and parses answers. Its session, request and response
classes are not used: they cost two thirds of a request (100 of 150 µs) for redirects, cookies, proxies and streamed
bodies, which a callback must not have.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from multidict import CIMultiDict, CIMultiDictProxy

from tasksapp.delivery.address_guard import AddressGuard, AddressRefused
from tasksapp.delivery.answer_protocol import AnswerProtocol, ParsingTurns
from tasksapp.delivery.route import Route

logger = logging.getLogger(__name__)

#: How long an unused connection is kept, in seconds; servers close theirs after 60 or more.
KEEP_SECONDS = 15.0
#: How long a receiver that has answered may take to end TLS, in seconds. A transport waits 30 s for that, and without
#: end for one that does not read what is left to be sent: each such callback kept a file descriptor for so long.
CLOSE_SECONDS = 1.0
#: How long an answer of DNS is used.
DNS_SECONDS = 5
#: Interim answers (100 to 199) that may come before the answer. Without a bound, a receiver that sends them faster than
#: they are read would keep the event loop for itself: no timeout fires, and no other callback goes on.
MAX_INTERIM_ANSWERS = 100
#: How much of a body is parsed ahead, where less than that is read.
LEAST_BUFFER_BYTES = 4_096

_NO_LIMIT = aiohttp.ClientTimeout(total=None)


class ConnectionState(Enum):
    """Which connection a request has."""

    CONNECTING = "none yet, so nothing was sent"
    REUSED = "one that was open before"
    NEW = "one that was opened for it"


#: Of the request that this task is sending. (aiohttp's tracing has it too, for a tenth of what a callback costs.)
connection_state: ContextVar[ConnectionState] = ContextVar("connection_state", default=ConnectionState.CONNECTING)


class Answer(NamedTuple):
    """A receiver's answer, as far as it was received.

    Args:
        status_code: its status.
        headers: its headers; none if they were not received completely.
        body: as much of its body as is read.
        fault: what went wrong after the status line; None for nothing.
    """

    status_code: int
    headers: CIMultiDictProxy[str]
    body: bytes
    fault: Exception | None = None


_NO_HEADERS: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict())


class Connections:
    """Connections of one kind. Made, used and closed inside one event loop.

    Args:
        guard: says which addresses may be connected to.
        keep: whether connections are kept and used again.
        answer_bytes: how much of an answer's body is read.
    """

    def __init__(self, guard: AddressGuard, *, keep: bool, answer_bytes: int) -> None:
        options: dict[str, Any] = {"keepalive_timeout": KEEP_SECONDS} if keep else {"force_close": True}
        # The dispatcher has caps of its own; time spent waiting for a limit here would count as sending.
        self._connector = _Connector(guard, limit=0, ttl_dns_cache=DNS_SECONDS, **options)
        self._last_header = "" if keep else "Connection: close\r\n"
        self._answer_bytes = answer_bytes

    async def close(self) -> None:
        """Closes all connections."""
        await self._connector.close()

    async def exchange(self, route: Route, headers: str, body: bytes, *, ends: float) -> Answer:
        """Send one request, and return its answer with as much of the body as is read.

        The status line decides: once it is complete, what goes wrong after it is the answer's fault, and the connection
        is closed. No redirect is followed, nothing is decompressed, nothing is sent twice.

        Args:
            route: where to.
            headers: the header lines that only this request has.
            body: its body.
            ends: when its time is over, by the loop's clock.

        Raises TimeoutError, OSError or aiohttp.ClientError if no complete status line came.
        """
        request = f"{route.head}{headers}{self._last_header}Content-Length: {len(body)}\r\n\r\n".encode() + body
        async with asyncio.timeout_at(ends):
            connection = await self._connect(route)
        transport = connection.transport
        try:
            answer, whole = await self._converse(connection, request, ends=ends)
        except BaseException:
            if transport is not None:
                transport.abort()
            connection.close()
            raise
        if whole:
            connection.release()
        else:
            connection.close()
        if transport is not None and transport.is_closing():
            asyncio.get_running_loop().call_later(CLOSE_SECONDS, transport.abort)
        return answer

    async def _connect(self, route: Route) -> aiohttp.connector.Connection:
        connection_state.set(ConnectionState.REUSED)
        connection = await self._connector.connect(route, traces=[], timeout=_NO_LIMIT)
        while connection_state.get() is ConnectionState.REUSED and _has_unasked_input(connection):
            # It would be taken for the answer to this request.
            connection.close()
            connection = await self._connector.connect(route, traces=[], timeout=_NO_LIMIT)
        return connection

    async def _converse(
        self, connection: aiohttp.connector.Connection, request: bytes, *, ends: float
    ) -> tuple[Answer, bool]:
        """Return the answer, and whether the connection can be reused: all was sent, and all that came was read."""
        protocol = connection.protocol
        assert isinstance(protocol, AnswerProtocol)
        transport = protocol.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection was closed before it was used")
        # Once twice as much of a body waits as will be read, the parser pauses: it shall not parse the rest.
        protocol.set_response_params(
            read_until_eof=True, auto_decompress=False, read_bufsize=max(self._answer_bytes, LEAST_BUFFER_BYTES)
        )
        transport.write(request)
        message: RawResponseMessage | None = None
        parts: list[bytes] = []
        try:
            async with asyncio.timeout_at(ends):
                message, content = await _final_answer(protocol)
                room = self._answer_bytes
                while room > 0 and not content.at_eof():
                    part = await content.read(room)
                    parts.append(part)
                    room -= len(part)
        except (HttpProcessingError, aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            fault = _without_code(error) if isinstance(error, HttpProcessingError) else error
            status_code = protocol.received_status if message is None else message.code
            if status_code is None:
                raise fault from error
            headers = _NO_HEADERS if message is None else message.headers
            return Answer(status_code, headers, b"".join(parts), fault), False
        whole = content.at_eof() and not transport.get_write_buffer_size()
        return Answer(message.code, message.headers, b"".join(parts)), whole


async def _final_answer(protocol: AnswerProtocol) -> tuple[RawResponseMessage, StreamReader]:
    """Return the first answer that is not an interim one, and its body."""
    for _ in range(MAX_INTERIM_ANSWERS + 1):
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:
            return message, content
    raise aiohttp.ClientPayloadError(f"more than {MAX_INTERIM_ANSWERS} interim answers")


def _without_code(error: HttpProcessingError) -> aiohttp.ClientPayloadError:
    """Return the error without its code, which is none of the receiver's."""
    return aiohttp.ClientPayloadError(f"not an HTTP answer: {error.message}")


def _has_unasked_input(connection: aiohttp.connector.Connection) -> bool:
    """Whether something came on the connection that no request asked for."""
    return connection.protocol is not None and connection.protocol.should_close


class _Connector(aiohttp.TCPConnector):
    """Notes whether a request has a connection yet, and whether that is a new one; dials allowed addresses only."""

    def __init__(self, guard: AddressGuard, **options: Any) -> None:
        super().__init__(socket_factory=guard.make_socket, resolver=NameResolver(), **options)
        self._guard = guard
        make: Callable[..., ResponseHandler] = AnswerProtocol
        self._factory = partial(make, loop=self._loop, turns=ParsingTurns(self._loop))

    async def _create_connection(self, req: Any, *args: Any, **options: Any) -> Any:
        connection_state.set(ConnectionState.CONNECTING)
        try:
            made = await super()._create_connection(req, *args, **options)
        except AddressRefused as error:
            if not req.is_untold:
                logger.warning("%s", error.strerror, extra={"action": "refuse", "addresses": error.addresses})
            raise
        connection_state.set(ConnectionState.NEW)
        return made

    def _convert_hosts_to_addr_infos(self, hosts: list[ResolveResult]) -> list[Any]:
        """What may be dialled of a name's addresses; raises AddressRefused where that is nothing."""
        allowed = [host for host in hosts if self._guard.allows(host["host"])]
        if hosts and not allowed:
            raise AddressRefused(hosts[0]["hostname"], [host["host"] for host in hosts])
        return super()._convert_hosts_to_addr_infos(allowed)


#: Lookups under way at once. aiohttp asks once for each name at a time, however many callbacks wait for it; a name
#: server that does not answer keeps a thread for 10 to 30 s. The event loops' own pools have 4 or 6 threads, so that as
#: many silent names stopped the callbacks to all others.
MAX_LOOKUPS = 256


class NameResolver(AbstractResolver):
    """Asks the system for the addresses of a name. Made and used inside one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = asyncio.Semaphore(MAX_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of the host. Raises OSError where the system knows of none."""
        await self._free.acquire()
        found: asyncio.Future[list[Any]] = self._loop.create_future()
        # A daemon: no lookup keeps the process from ending.
        try:
            threading.Thread(target=self._look_up, args=(found, host, port, family), daemon=True).start()
        except RuntimeError:  # the system has no more of them at this moment
            self._free.release()
            raise
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=address[1], family=family, proto=protocol, flags=flags
            )
            for family, _, protocol, _, address in await found
        ]

    async def close(self) -> None:
        """Leaves the lookups that are under way to themselves."""

    def _look_up(self, found: asyncio.Future[list[Any]], host: str, port: int, family: socket.AddressFamily) -> None:
        answer: list[Any] | Exception
        try:
            answer = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except Exception as error:
            answer = error
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish, found, answer)

    def _finish(self, found: asyncio.Future[list[Any]], answer: list[Any] | Exception) -> None:
        self._free.release()
        if found.done():
            return  # who asked was cancelled
        if isinstance(answer, Exception):
            found.set_exception(answer)
        else:
            found.set_result(answer)
