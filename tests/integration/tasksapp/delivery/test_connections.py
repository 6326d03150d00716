"""Which connection a callback goes over, and what goes over it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import uvloop

from tasksapp.delivery.client_tls import ClientTls
from tasksapp.delivery.outcomes import CallbackResult, Delivered, Retry, Returned
from tests.callbacks import callback
from tests.certificates import made, server_context
from tests.integration.tasksapp.delivery.raw_receiver import (
    answering,
    failed,
    listening,
    outcome_of,
    read_request,
    sending,
)

AUTHORITY = made("authority")
SERVER = made("receiver", by=AUTHORITY)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def test_a_connection_that_its_server_had_closed_is_replaced_within_the_attempt() -> None:
    seen: list[int] = []

    async def once_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = len(seen)
        seen.append(0)
        await read_request(reader)
        seen[connection] += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        # A server that drops a kept connection as soon as it is used again, without an answer.
        await reader.readexactly(1)

    async def run() -> list[CallbackResult]:
        async with listening(once_each) as port, sending() as sender:
            one = callback(f"http://127.0.0.1:{port}/")
            return [await sender.send(one), await sender.send(one)]

    results = asyncio.run(run())

    assert [result.outcome for result in results] == [Delivered(), Delivered()]
    assert seen == [1, 1]


def test_an_answer_without_a_request_is_taken_for_no_answer() -> None:
    seen = 0

    async def chatter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        while True:
            await read_request(reader)
            seen += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await answered.wait()
            # One more, for the next callback on this connection.
            writer.write(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            answered.clear()
            chattered.set()

    async def run() -> list[CallbackResult]:
        results = []
        async with listening(chatter) as port, sending() as sender:
            for _ in range(3):
                results.append(await sender.send(callback(f"http://127.0.0.1:{port}/")))
                answered.set()
                await chattered.wait()
                chattered.clear()
                # It is in the socket; the loop reads it in one of its next turns.
                for _ in range(5):
                    await asyncio.sleep(0)
        return results

    answered, chattered = asyncio.Event(), asyncio.Event()

    assert [result.outcome for result in asyncio.run(run())] == [Delivered()] * 3
    assert seen == 3


def test_a_header_that_would_be_two_is_never_sent() -> None:
    async def run() -> CallbackResult:
        async with listening(answering(b"")) as port, sending() as sender:
            return await sender.send(callback(f"http://127.0.0.1:{port}/", headers=(("X-Team", "a\r\nX-Evil: b"),)))

    outcome = asyncio.run(run()).outcome

    assert isinstance(outcome, Returned)
    assert "line break" in outcome.reason
    assert outcome.is_fault


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_request_that_fails_on_a_fresh_connection_is_sent_once(method: str) -> None:
    seen = 0

    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        await read_request(reader)
        seen += 1

    result = outcome_of(drop, method=method)

    assert not failed(result).unsent
    assert seen == 1


def test_a_callback_that_may_be_sent_once_never_meets_a_kept_connection() -> None:
    connections = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def run() -> None:
        async with listening(count) as port, sending() as sender:
            one = callback(f"http://127.0.0.1:{port}/", at_most_once=True)
            await sender.send(one)
            await sender.send(one)

    asyncio.run(run())

    assert connections == 2


@contextmanager
def resetting() -> Iterator[int]:
    """A receiver that resets each connection as soon as something comes, from a thread of its own; its port."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()

    with socket.create_server(("127.0.0.1", 0), backlog=500) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_a_receiver_that_resets_connections_closes_none_of_another() -> None:
    """uvloop and the socket object both closed the descriptor, the latter when it belonged to somebody else."""

    async def run() -> list[CallbackResult]:
        no_content = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
        innocent: list[CallbackResult] = []
        with resetting() as hostile_port:
            async with listening(answering(no_content)) as port, sending() as sender:
                for _ in range(60):
                    attack = [sender.send(callback(f"https://127.0.0.1:{hostile_port}/")) for _ in range(10)]
                    beside = [sender.send(callback(f"http://127.0.0.1:{port}/")) for _ in range(10)]
                    innocent += (await asyncio.gather(*attack, *beside))[10:]
        return innocent

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        results = runner.run(run())

    assert {result.outcome for result in results} == {Delivered()}


@contextmanager
def holding(context: ssl.SSLContext | None, answer: bytes) -> Iterator[int]:
    """The port of a receiver that answers, or does not, and then neither reads nor closes."""
    held: list[socket.socket] = []

    def hold(connection: socket.socket) -> None:
        with suppress(OSError):
            connection = context.wrap_socket(connection, server_side=True) if context else connection
            held.append(connection)
            if answer:
                connection.recv(10_000)
                connection.sendall(answer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=hold, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for each in held:
                each.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize(("is_tls", "answer"), [(False, b""), (True, b""), (True, OK)])
def test_a_receiver_that_neither_reads_nor_closes_keeps_no_connection(
    loop: Callable[[], asyncio.AbstractEventLoop], answer: bytes, tmp_path: Path, *, is_tls: bool
) -> None:
    tls = ClientTls("", AUTHORITY.pem) if is_tls else None
    body = b"a" if answer else b"a" * 8_000_000  # more than lies between two programs

    async def run(port: int) -> list[object]:
        url = f"{'https' if is_tls else 'http'}://127.0.0.1:{port}/"
        async with sending() as sender:
            callbacks = [
                callback(url, tls=tls, body=body, timeout_seconds=1.5, at_most_once=n % 2 > 0) for n in range(4)
            ]
            results = await asyncio.gather(*(sender.send(one) for one in callbacks))
            deadline = asyncio.get_running_loop().time() + 10
            while left := [one for one in psutil.Process().net_connections("tcp") if one.raddr[1:] == (port,)]:
                assert asyncio.get_running_loop().time() < deadline, left
                await asyncio.sleep(0.05)
            return [result.outcome for result in results]

    context = server_context(SERVER, folder=tmp_path) if is_tls else None
    with holding(context, answer) as port, asyncio.Runner(loop_factory=loop) as runner:
        outcomes = runner.run(run(port))

    assert [type(outcome) for outcome in outcomes] == [Delivered if answer else Retry] * 4
