"""Answers with a fault after their status line: the status decides, the fault is a remark, the connection is closed."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct

import pytest

from tasksapp.delivery.outcomes import REMARK, CallbackResult, Delivered, GiveUp, Retry
from tests.callbacks import callback
from tests.integration.tasksapp.delivery.raw_receiver import (
    Handler,
    failed,
    listening,
    outcome_of,
    read_request,
    sending,
)

#: What the receiver says, and what becomes of the callback by it.
STATUSES: dict[int, type] = {
    200: Delivered,
    204: Delivered,
    302: Retry,
    400: Retry,
    410: GiveUp,
    429: Retry,
    500: Retry,
    503: Retry,
}
TIMEOUT_SECONDS = 0.4
GZIP = gzip.compress(b"a" * 500)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
#: What follows the status line, before the receiver closes the connection.
SENT = {
    "a header without a colon": b"nonsense\r\nContent-Length: 0\r\n\r\n",
    "a header without a name": b": a\r\nContent-Length: 0\r\n\r\n",
    "a space in the name of a header": b"X Y: a\r\nContent-Length: 0\r\n\r\n",
    "a NUL in a header": b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
    "a NUL in the name of a header": b"X\0: a\r\nContent-Length: 0\r\n\r\n",
    "a line break of half": b"X: a\rY: b\r\nContent-Length: 0\r\n\r\n",
    "a header of 300 000 bytes": b"X: " + b"a" * 300_000 + b"\r\nContent-Length: 0\r\n\r\n",
    "5 000 headers": b"X: a\r\n" * 5_000 + b"Content-Length: 0\r\n\r\n",
    "a length that is no number": b"Content-Length: some\r\n\r\nsome",
    "a negative length": b"Content-Length: -5\r\n\r\nsome",
    "a length beyond all numbers": b"Content-Length: " + b"9" * 40 + b"\r\n\r\nsome",
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nsome66",
    "a length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a body shorter than its length": b"Content-Length: 500\r\n\r\nhalf",
    "a body longer than its length": b"Content-Length: 1\r\n\r\nlong",
    "the length of a chunk is no number": CHUNKED + b"some\r\nabc\r\n0\r\n\r\n",
    "the length of a chunk is negative": CHUNKED + b"-1\r\nabc\r\n0\r\n\r\n",
    "the length of a chunk is huge": CHUNKED + b"f" * 40 + b"\r\nabc",
    "a chunk without its line break": CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n",
    "a last chunk that is missing": CHUNKED + b"3\r\nabc\r\n",
    "garbage in place of trailers": CHUNKED + b"0\r\n\0\0\0\r\n\r\n",
    "an end within the headers": b"X: a\r\nY",
    "an end after the status line": b"",
    "a second answer": b"Content-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "garbage after the answer": b"Content-Length: 0\r\n\r\n\0\1\2 garbage",
}
#: Those that come after a whole answer: it may be read before they come.
AFTER_THE_ANSWER = ("a body longer than its length", "a second answer", "garbage after the answer")
#: The same, where no parser sees a fault that matters: the answer is taken as it is.
BORNE = {
    "chunks inside of something": b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "a header that begins with a space": b" X: a\r\nContent-Length: 0\r\n\r\n",
    "chunks, twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a header over two lines": b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a header of 20 000 bytes": b"X: " + b"a" * 20_000 + b"\r\nContent-Length: 0\r\n\r\n",
    "500 headers": b"X: a\r\n" * 500 + b"Content-Length: 0\r\n\r\n",
    "gzip that is none": b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone",
    "gzip that is cut": b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n" + GZIP[:9],
    "deflate that is none": b"Content-Encoding: deflate\r\nContent-Length: 4\r\n\r\nnone",
    "an encoding that does not exist": b"Content-Encoding: none-such\r\nContent-Length: 4\r\n\r\nnone",
    "another charset than it says": b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    "a charset that does not exist": b"Content-Type: text/plain; charset=none\r\nContent-Length: 2\r\n\r\nab",
    "bytes above ASCII in a header": b"X: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "a Retry-After that cannot be read": b"Retry-After: soon, \xff\r\nContent-Length: 0\r\n\r\n",
    "an action that does not exist": b"DelayHub-Action: explode\r\nContent-Length: 0\r\n\r\n",
    "a body without a length": b"X: a\r\n\r\nsome",
    "trailers": CHUNKED + b"3\r\nabc\r\n0\r\nX: a\r\n\r\n",
    "a body larger than what is read": b"Content-Length: 1000\r\n\r\n" + b"a" * 1000,
}
#: The same, and the receiver keeps the connection open without a word, or goes on for ever.
HELD = {
    "silence after the status line": (b"", b""),
    "silence within the headers": (b"X: a\r\nY", b""),
    "silence within the body": (b"Content-Length: 500\r\n\r\nhalf", b""),
    "silence within a chunk": (CHUNKED + b"ff\r\nhalf", b""),
    "headers in drips": (b"", b"X: a\r\n"),
    "a body in drips": (b"Content-Length: 500\r\n\r\n", b"a"),
    "chunks in drips": (CHUNKED, b"1\r\na\r\n"),
}


def status_line(code: int, *, reason: bytes = b"Some Reason") -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (code, reason)


def sends(answer: bytes, *, resets: bool = False) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)
        await writer.drain()
        if resets:
            held: socket.socket = writer.get_extra_info("socket")
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asyncio.sleep(0.05)  # so that the kernel does not drop what was sent
            writer.transport.abort()

    return handle


def holds(answer: bytes, unit: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)
        while True:
            writer.write(unit)
            await writer.drain()
            await asyncio.sleep(0.05)

    return handle


def results_by_status(make: dict[int, Handler]) -> dict[int, CallbackResult]:
    """What becomes of a callback to each of the receivers, all at once over one sender."""

    async def one(code: int, handler: Handler) -> tuple[int, CallbackResult]:
        async with listening(handler) as port:
            url = f"http://127.0.0.1:{port}/"
            return code, await sender.send(callback(url, timeout_seconds=TIMEOUT_SECONDS))

    async def run() -> dict[int, CallbackResult]:
        nonlocal sender
        async with sending() as sender:
            return dict(await asyncio.gather(*(one(code, handler) for code, handler in make.items())))

    sender = None
    return asyncio.run(run())


def assert_decided_by_status(results: dict[int, CallbackResult]) -> None:
    found = {code: (type(one.outcome), one.response and one.response.status_code) for code, one in results.items()}
    assert found == {code: (kind, code) for code, kind in STATUSES.items()}


@pytest.mark.parametrize("fault", SENT)
def test_the_status_decides_whatever_is_wrong_after_it(fault: str) -> None:
    results = results_by_status({code: sends(status_line(code) + SENT[fault]) for code in STATUSES})

    assert_decided_by_status(results)
    responses = [one.response for one in results.values() if one.response is not None]
    assert fault in AFTER_THE_ANSWER or all(response.remark for response in responses)


@pytest.mark.parametrize("fault", BORNE)
def test_an_odd_answer_is_no_fault(fault: str) -> None:
    results = results_by_status({code: sends(status_line(code) + BORNE[fault]) for code in STATUSES})

    assert_decided_by_status(results)
    assert results[200].response is not None
    assert not results[200].response.remark
    assert results[200].response.headers


@pytest.mark.parametrize("fault", HELD)
def test_a_receiver_that_holds_its_answer_counts_by_its_status_once_its_time_is_over(fault: str) -> None:
    results = results_by_status({code: holds(status_line(code) + HELD[fault][0], HELD[fault][1]) for code in STATUSES})

    assert_decided_by_status({200: results[200], **results})
    # Where neither has a body, the answer is whole with its headers.
    for code in set(STATUSES) - {204}:
        response = results[code].response
        assert response is not None
        assert response.remark == f"no whole answer within {TIMEOUT_SECONDS:g} s"
        assert TIMEOUT_SECONDS * 1000 <= results[code].duration_ms < 4_000


@pytest.mark.parametrize("after", [b"", b"X: a\r\nY", b"Content-Length: 500\r\n\r\nhalf", CHUNKED + b"ff\r\nhalf"])
def test_a_reset_within_an_answer_leaves_its_status(after: bytes) -> None:
    assert_decided_by_status(
        results_by_status({code: sends(status_line(code) + after, resets=True) for code in STATUSES})
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" * 90, id="many interim answers"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", id="one"),
        pytest.param(b"\r\n\r\n", id="empty lines"),
    ],
)
@pytest.mark.parametrize("after", [b"nonsense\r\n\r\n", b"Content-Length: 500\r\n\r\nhalf"])
def test_interim_answers_are_not_taken_for_the_answer(before: bytes, after: bytes) -> None:
    assert_decided_by_status(results_by_status({code: sends(before + status_line(code) + after) for code in STATUSES}))


@pytest.mark.parametrize("reason", [b"\xff\xfe", "zu spät".encode(), b"", b"a" * 9_000])
@pytest.mark.parametrize("after", [b"Content-Length: 0\r\n\r\n", b"nonsense\r\n\r\n"])
def test_no_reason_phrase_hides_a_status(reason: bytes, after: bytes) -> None:
    assert_decided_by_status(
        results_by_status({code: sends(status_line(code, reason=reason) + after) for code in STATUSES})
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        b"HTTP/1.1 20",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\r",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 -200 OK\r\n\r\n",
        b"HTTQ/1.1 200 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"200 OK\r\n\r\n",
        b"ok: HTTP/1.1 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x16\x03\x01\x02\x00 HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20",
        b"HTTP/1.1 103 Early Hints\r\nX: a\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"<html>HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_without_a_whole_status_line_nothing_has_succeeded(answer: bytes) -> None:
    result = outcome_of(sends(answer))

    assert not failed(result).unsent
    assert result.response is None


def test_a_status_line_without_its_end_is_none_when_the_time_is_over() -> None:
    result = outcome_of(holds(b"HTTP/1.1 200 OK", b""), timeout_seconds=TIMEOUT_SECONDS)

    assert failed(result).reason == f"no whole answer within {TIMEOUT_SECONDS:g} s"
    assert result.response is None


def test_headers_that_were_not_read_whole_steer_nothing() -> None:
    steering = b"DelayHub-Action: fail\r\nRetry-After: 60\r\n"

    accepted = outcome_of(sends(status_line(200) + steering + b"nonsense\r\n\r\n"))
    busy = outcome_of(sends(status_line(503) + steering + b"nonsense\r\n\r\n"))

    assert accepted.outcome == Delivered()
    assert failed(busy).after_seconds is None
    assert accepted.response is not None
    assert accepted.response.headers == {REMARK: accepted.response.remark}


def test_headers_that_were_read_whole_steer_whatever_is_wrong_with_the_body() -> None:
    action = b"DelayHub-Action: fail\r\nContent-Length: 500\r\n\r\nhalf"
    waits = b"Retry-After: 60\r\nContent-Length: 500\r\n\r\nhalf"

    assert isinstance(outcome_of(sends(status_line(200) + action)).outcome, GiveUp)
    assert failed(outcome_of(sends(status_line(503) + waits))).after_seconds == 60


@pytest.mark.parametrize("after", [*SENT.values(), b"Content-Length: 2\r\n\r\nok"])
@pytest.mark.parametrize("code", [200, 204])
def test_a_connection_is_kept_only_where_nothing_was_wrong(after: bytes, code: int) -> None:
    """What a receiver sends after a fault would be taken for the answer to the next callback."""
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await read_request(reader)
            writer.write(status_line(code) + after)
            await writer.drain()

    async def run() -> list[CallbackResult]:
        async with listening(handle) as port, sending() as sender:
            one = callback(f"http://127.0.0.1:{port}/", timeout_seconds=TIMEOUT_SECONDS)
            return [await sender.send(one), await sender.send(one)]

    results = asyncio.run(run())

    assert [result.outcome for result in results] == [Delivered(), Delivered()]
    is_fault = after in SENT.values() or code == 204
    assert connections == (2 if is_fault else 1)


def test_a_fault_is_told_in_a_line_without_what_the_receiver_sent_beyond_it() -> None:
    result = outcome_of(sends(status_line(204) + b"Content-Length: 0\r\n\r\n{}"))

    assert result.outcome == Delivered()
    assert result.response is not None
    assert result.response.remark.startswith("ClientPayloadError: not an HTTP answer: ")
    assert "\n" not in result.response.remark
