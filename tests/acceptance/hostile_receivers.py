"""Receivers that misbehave, each in one way: ``python hostile_receivers.py`` prints their addresses as one JSON line.

They run in a process of their own, so that what they do to a worker costs the other receivers of a test nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\n"
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BLOCK_BYTES = 262_144
DRIP_SECONDS = 0.2


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter | None = None) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)


async def reads_something(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


def pours(head: bytes, unit: bytes, *, after: Handler = read_request) -> Handler:
    """Sends the head, and then the unit without end, as fast as it is read."""
    block = unit * max(1, BLOCK_BYTES // len(unit))

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await after(reader, writer)
        writer.write(head)
        while True:
            writer.write(block)
            await writer.drain()

    return handle


def drips(head: bytes, unit: bytes) -> Handler:
    """Sends the head, and then the unit a few times a second, without end."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(unit)
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)

    return handle


def answers(answer: bytes, *, then_waits: bool = False) -> Handler:
    """Answers each request with those bytes; closes the connection, or keeps it for the next request."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)
        await writer.drain()
        while then_waits:
            await read_request(reader)
            writer.write(answer)
            await writer.drain()

    return handle


def keeps_silent(head: bytes) -> Handler:
    """Begins an answer, or does not, and says no more."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await reader.read()
        await asyncio.Event().wait()

    return handle


async def never_reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport reads too
    await asyncio.Event().wait()


async def closes_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def resets_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    reset(writer)


async def resets_after_the_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    reset(writer)


async def resets_within_the_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(OK + b"Content-Length: 500\r\n\r\nhalf")
    await writer.drain()
    reset(writer)


async def answers_before_the_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"Content-Length: 0\r\n\r\n")
    await reader.read()


async def leaves_something_for_the_next(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An answer, and a little later another one, which only the next request on the connection could be given."""
    while True:
        await read_request(reader)
        writer.write(NO_CONTENT + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0.005)
        writer.write(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    held: socket.socket = writer.get_extra_info("socket")
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answer_with(*headers: str, status: str = "503 Wait") -> Handler:
    lines = "".join(f"{header}\r\n" for header in headers)
    return answers(f"HTTP/1.1 {status}\r\n{lines}Content-Length: 0\r\n\r\n".encode("latin-1"), then_waits=True)


BOMB = gzip.compress(b"\0" * 20_000_000)
KINDS: dict[str, Handler] = {
    # answers without end
    "pours.interim-103": pours(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "pours.interim-100": pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "pours.answers": pours(b"", NO_CONTENT + b"\r\n"),
    "pours.headers": pours(OK, b"a:b\r\n"),
    "pours.cookies": pours(OK, b"Set-Cookie: a=b; Path=/\r\n"),
    "pours.one-header": pours(OK + b"X: ", b"y"),
    "pours.status-line": pours(b"HTTP/1.1 200 ", b"y"),
    "pours.body": pours(OK + b"\r\n", b"body"),
    "pours.chunks": pours(CHUNKED, b"1\r\na\r\n"),
    "pours.trailers": pours(CHUNKED + b"0\r\n", b"a:b\r\n"),
    "pours.extensions": pours(CHUNKED + b"1;", b"a=b;"),
    "pours.chunk-size": pours(CHUNKED, b"0"),
    "pours.empty-lines": pours(b"", b"\r\n"),
    "pours.garbage": pours(b"", os.urandom(BLOCK_BYTES)),
    # a byte now and then
    "drips.head": drips(OK + b"X: ", b"a"),
    "drips.headers": drips(OK, b"a: b\r\n"),
    "drips.body": drips(OK + b"Content-Length: 1000000\r\n\r\n", b"a"),
    "drips.chunks": drips(CHUNKED, b"1\r\na\r\n"),
    "drips.interim": drips(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    # silence
    "silent.from-the-start": keeps_silent(b""),
    "silent.in-the-head": keeps_silent(OK),
    "silent.in-a-huge-body": keeps_silent(OK + b"Content-Length: 99999999999999\r\n\r\n"),
    "silent.in-a-chunk": keeps_silent(CHUNKED + b"fffffff\r\nabc"),
    "silent.and-never-reads": never_reads,
    # connections that end
    "ends.at-once": closes_at_once,
    "ends.with-reset": resets_at_once,
    "ends.with-reset-after-the-request": resets_after_the_request,
    "ends.with-reset-in-the-answer": resets_within_the_answer,
    "ends.in-the-head": answers(b"HTTP/1.1 20"),
    "ends.in-the-body": answers(OK + b"Content-Length: 500\r\n\r\nhalf"),
    # not HTTP
    "odd.garbage": answers(os.urandom(5_000)),
    "odd.tls-record": answers(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500)),
    "odd.ssh": answers(b"SSH-2.0-OpenSSH_9.9\r\n"),
    "odd.status": answers(b"HTTP/1.1 999999 What\r\n\r\n"),
    "odd.negative-length": answers(OK + b"Content-Length: -5\r\n\r\n"),
    "odd.two-lengths": answers(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456"),
    "odd.length-and-chunks": answers(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "odd.chunk-size": answers(CHUNKED + b"-1\r\nabc\r\n0\r\n\r\n"),
    "odd.folded-header": answers(OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n"),
    "odd.header-nul": answers(OK + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n"),
    "odd.thousand-headers": answers(OK + b"a: b\r\n" * 1_000 + b"Content-Length: 0\r\n\r\n"),
    "odd.upgrade": answers(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + b"\0" * 500),
    "odd.bomb": answers(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB),
    # connections that are kept
    "kept.answer-before-the-request": answers_before_the_request,
    "kept.many-answers": answers((NO_CONTENT + b"\r\n") * 50, then_waits=True),
    "kept.more-than-its-length": answers(OK + b"Content-Length: 2\r\n\r\nokHTTP/1.1 410 Gone\r\n", then_waits=True),
    "kept.something-for-the-next": leaves_something_for_the_next,
    # headers that mean something
    "says.redirect": answer_with("Location: /", status="302 Found"),
    "says.redirect-inside": answer_with("Location: http://169.254.169.254/latest", status="307 Temporary Redirect"),
    "says.retry-after-huge": answer_with("Retry-After: 1e308"),
    "says.retry-after-negative": answer_with("Retry-After: -1e308"),
    "says.retry-after-nan": answer_with("Retry-After: NaN"),
    "says.retry-after-infinite": answer_with("Retry-After: inf"),
    "says.retry-after-digits": answer_with("Retry-After: " + "9" * 5_000),
    "says.retry-after-last-date": answer_with("Retry-After: Fri, 31 Dec 9999 23:59:59 -2359"),
    "says.retry-after-odd-date": answer_with("Retry-After: Mon, 99 Foo 99999999999999999999 25:61:61 GMT"),
    "says.retry-after-garbage": answer_with("Retry-After: \xff\xfe\x80"),
    "says.next-in-garbage": answer_with("DelayHub-Next-In: \x80", "DelayHub-Action: retry"),
    "says.next-in-huge": answer_with("DelayHub-Next-In: 1e400", "DelayHub-Action: retry"),
    "says.action-garbage": answer_with("DelayHub-Action: ; DROP TABLE delayhub_job", "DelayHub-Action: \xff"),
    "says.cancel-others": answer_with("DelayHub-Action: cancel-others", status="200 OK"),
    "says.cookies": answer_with(*["Set-Cookie: a=b; Domain=127.0.0.1"] * 50, status="200 OK"),
}
#: Called by https://, without TLS at the other end, or with half of it.
TLS_KINDS: dict[str, Handler] = {
    "tls.silent": keeps_silent(b""),
    "tls.plain-answer": keeps_silent(NO_CONTENT + b"\r\n"),
    "tls.garbage": pours(b"", os.urandom(BLOCK_BYTES), after=reads_something),
    "tls.half-a-record": keeps_silent(b"\x16\x03\x03\x40\x00" + os.urandom(100)),
    "tls.resets": resets_at_once,
}


async def serve() -> None:
    """Listens until its standard input ends."""
    connections: set[asyncio.Task[None] | None] = set()

    def guarded(handler: Handler) -> Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # The loop itself keeps no reference to a task that waits for a connection.
            connections.add(asyncio.current_task())
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await handler(reader, writer)
            with suppress(ConnectionError):
                writer.close()

        return handle

    addresses = {}
    for scheme, kinds in (("http", KINDS), ("https", TLS_KINDS)):
        for kind, handler in kinds.items():
            listener = socket.socket()
            # Small, so that a receiver which does not read is felt by the sender.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            listener.bind(("127.0.0.1", 0))
            await asyncio.start_server(guarded(handler), sock=listener, backlog=1_000)
            addresses[kind] = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/"
    print(json.dumps(addresses), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)  # without a word about each connection that is still open


if __name__ == "__main__":
    asyncio.run(serve())
