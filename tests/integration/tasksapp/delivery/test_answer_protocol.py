"""Answers without end from one receiver, while others get their callbacks."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tasksapp.delivery.answer_protocol import TURN_SECONDS, AnswerProtocol, ParsingTurns
from tasksapp.delivery.connections import MAX_INTERIM_ANSWERS
from tasksapp.delivery.outcomes import CallbackResult, Delivered
from tasksapp.delivery.sender import Sender
from tests.callbacks import callback
from tests.integration.tasksapp.delivery.raw_receiver import (
    Handler,
    answering,
    failed,
    listening,
    outcome_of,
    read_request,
    sending,
)
from tests.standing_clock import StandingClock

INTERIM = b"HTTP/1.1 103 Early Hints\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: How much later than without the hostile receiver a callback to another one may be.
MOST_LATE_SECONDS = 0.1


def pouring(head: bytes, unit: bytes) -> Handler:
    """A receiver that sends the head, and then the unit without end, as fast as it is read."""

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        block = unit * (262_144 // len(unit))
        while True:
            writer.write(block)
            await writer.drain()

    return pour


def test_more_interim_answers_than_any_server_sends_are_a_failed_attempt() -> None:
    result = outcome_of(pouring(b"", INTERIM), timeout_seconds=20.0)

    assert "more than 100 " in failed(result).reason
    assert not failed(result).unsent


@contextmanager
def hostile(head: bytes, unit: bytes) -> Iterator[int]:
    """A receiver that pours from threads of its own, so that the loop under test does not do its work; its port."""

    def pour(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(head)
            while True:
                connection.sendall(block)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=pour, args=(server.accept()[0],), daemon=True).start()

    block = unit * (262_144 // len(unit))
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


async def longest_turn(ended: asyncio.Event) -> float:
    """The most CPU seconds that one turn of the loop took: what a callback of another receiver waits at most.

    CPU time, since the tests of a busy machine wait for each other, too.
    """
    longest, before = 0.0, time.thread_time()
    while not ended.is_set():
        await asyncio.sleep(0)
        now = time.thread_time()
        longest, before = max(longest, now - before), now
    return longest


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        pytest.param(b"", INTERIM, id="interim answers"),
        pytest.param(b"", b"HTTP/1.1 204 N\r\n\r\n", id="answers, one after another"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"a:b\r\n", id="headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: ", b"y", id="one header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"body", id="a body"),
        pytest.param(CHUNKED, b"1\r\na\r\n", id="chunks of one byte"),
        pytest.param(CHUNKED + b"0\r\n", b"a:b\r\n", id="trailers"),
        pytest.param(CHUNKED + b"1;", b"a=b;", id="extensions of a chunk"),
        pytest.param(CHUNKED, b"0", id="the length of a chunk"),
        pytest.param(b"", b"\r\n", id="empty lines"),
    ],
)
def test_what_one_receiver_pours_delays_no_callback_of_another(head: bytes, unit: bytes) -> None:
    async def innocents(url: str) -> list[CallbackResult]:
        return [await sender.send(callback(url, timeout_seconds=20.0)) for _ in range(30)]

    async def run() -> tuple[float, list[CallbackResult]]:
        nonlocal sender
        ended = asyncio.Event()
        no_content = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
        with hostile(head, unit) as hostile_port:
            async with listening(answering(no_content)) as port, sending() as sender:
                turns = asyncio.create_task(longest_turn(ended))
                attack = [
                    asyncio.create_task(sender.send(callback(f"http://127.0.0.1:{hostile_port}/", timeout_seconds=2.0)))
                    for _ in range(10)
                ]
                results = await innocents(f"http://127.0.0.1:{port}/")
                await asyncio.gather(*attack)
                ended.set()
                return await turns, results

    sender: Sender
    # A full collection visits all objects that the other tests of this process have left.
    gc.collect()
    gc.freeze()
    try:
        turn, results = asyncio.run(run())
    finally:
        gc.unfreeze()

    assert [result.outcome for result in results] == [Delivered()] * 30
    assert turn < MOST_LATE_SECONDS


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        pytest.param(CHUNKED + b"1;", b"a=b;", id="extensions of a chunk"),
        pytest.param(CHUNKED, b"0", id="the length of a chunk"),
        pytest.param(CHUNKED.replace(b"200", b"503"), b"0", id="the length of a chunk of a failure"),
        pytest.param(b"", b"\r\n", id="empty lines"),
    ],
)
def test_an_answer_that_is_parsed_and_never_ends_is_cut_off(head: bytes, unit: bytes) -> None:
    result = outcome_of(pouring(head, unit), timeout_seconds=20.0)

    told = failed(result).reason if result.response is None else result.response.remark
    assert told.endswith("the answer is too long")
    assert (result.response is None) == (not head)
    assert isinstance(result.outcome, Delivered) == (b"200" in head)


class Transport(asyncio.Transport):
    """Notes whether it is read from."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def is_closing(self) -> bool:
        return False


def test_what_a_turn_has_no_time_for_is_parsed_in_the_next_one() -> None:
    async def run() -> None:
        loop, clock, transport = asyncio.get_running_loop(), StandingClock(), Transport()
        turns = ParsingTurns(loop, clock=clock)
        protocol = AnswerProtocol(loop, turns=turns)
        protocol.connection_made(transport)
        protocol.set_response_params(read_bufsize=4_096)
        turns.has_time()
        clock.seconds += TURN_SECONDS  # as if another connection had used it

        protocol.data_received(b"HTTP/1.1 204 No Content\r\n")
        protocol.data_received(b"\r\n")

        assert not protocol._buffer
        assert (protocol.should_close, transport.is_read) == (True, False)
        await asyncio.sleep(0)
        message, _ = await protocol.read()
        assert message.code == 204
        assert (protocol.should_close, transport.is_read) == (False, True)

    asyncio.run(run())


def test_as_many_interim_answers_as_may_come_are_passed_over() -> None:
    answer = INTERIM * MAX_INTERIM_ANSWERS + b"HTTP/1.1 204 No Content\r\n\r\n"

    assert outcome_of(answering(answer)).outcome == Delivered()


def test_a_long_answer_comes_whole_through_the_slices() -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (number, b"v" * 4_000) for number in range(100))
    answer = head + b"Content-Length: 50\r\n\r\n" + b"b" * 50

    result = outcome_of(answering(answer))

    assert result.outcome == Delivered()
    assert result.response is not None
    assert result.response.body == "b" * 50


def test_answers_that_nobody_asked_for_close_a_kept_connection() -> None:
    closed = asyncio.Event()

    async def pour_later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await answered.wait()
        with suppress(ConnectionError):
            while True:
                writer.write(INTERIM * 1_000)
                await writer.drain()
        closed.set()

    async def run() -> CallbackResult:
        async with listening(pour_later) as port, sending() as sender:
            result = await sender.send(callback(f"http://127.0.0.1:{port}/"))
            answered.set()
            await asyncio.wait_for(closed.wait(), 20)
            return result

    answered = asyncio.Event()

    assert asyncio.run(run()).outcome == Delivered()
