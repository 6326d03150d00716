"""Receivers that answer with whatever bytes a test gives them, and what a sender makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.outcomes import CallbackResult, Retry
from tasksapp.delivery.sender import Sender
from tests.callbacks import CLOCK, callback

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handler: Handler, **options: Any) -> AsyncIterator[int]:
    """A server that treats each connection as the handler does; its port."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()


@asynccontextmanager
async def sending(*, allowed: tuple[str, ...] = ("127.0.0.0/8",)) -> AsyncIterator[Sender]:
    sender = Sender(guard=AddressGuard(allowed), clock=CLOCK, response_bytes=100)
    try:
        yield sender
    finally:
        await sender.close()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


def answering(response: bytes) -> Handler:
    """Answers each request on a connection with those bytes, and then closes it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response)
        await writer.drain()

    return handle


def noting(received: list[bytes]) -> Handler:
    """Notes the first request on a connection, and accepts it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await read_request(reader))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    return handle


def outcome_of(handler: Handler, **fields: Any) -> CallbackResult:
    """What becomes of one callback to such a receiver."""

    async def run() -> CallbackResult:
        async with listening(handler) as port, sending() as sender:
            return await sender.send(callback(f"http://127.0.0.1:{port}/", **fields))

    return asyncio.run(run())


def failed(result: CallbackResult) -> Retry:
    assert isinstance(result.outcome, Retry), result.outcome
    return result.outcome
