"""A form that was cut short is refused, not taken for a shorter one: on a real web server."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from delayhub.project.refusals import WholeBody
from tests.web_server import prepare_database, web_server

TOKEN = "a" * 32
FORM = f"csrfmiddlewaretoken={TOKEN}&username=admin&password=a-long-passw".encode()


def status_of(port: int, *, declared: int) -> int:
    """The status of the answer to a login that declares so many bytes."""
    head = (
        "POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Cookie: csrftoken={TOKEN}\r\nContent-Length: {declared}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head.encode() + FORM)
        if declared > len(FORM):
            connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            return int(stream.readline().split()[1])


def test_a_form_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    prepare_database(tmp_path)
    with web_server(tmp_path, DELAYHUB_BODY_SLOTS="2") as port:
        # A wrong password: the form again.
        assert status_of(port, declared=len(FORM)) == 200
        assert status_of(port, declared=len(FORM) + 3) == 403


def taken(raw: bytes, *, length: str, read: Callable[[Any], Any] = lambda body: body) -> Any:
    """What an application reads."""
    seen: list[Any] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        del start_response
        seen.append(read(environ["wsgi.input"]))
        return []

    WholeBody(application)({"wsgi.input": io.BytesIO(raw), "CONTENT_LENGTH": length}, None)  # type: ignore[arg-type]  # it is not called
    return seen[0]


def test_a_whole_body_is_read_in_any_way_and_no_further() -> None:
    raw = b"one\ntwo\nthree"

    def in_parts(body: Any) -> tuple[bytes, ...]:
        return (body.read(2), body.readline(), body.readline(1), body.read(), body.read())

    assert taken(raw + b"next", length="13", read=lambda body: body.read()) == raw
    assert taken(raw + b"next", length="13", read=lambda body: body.read(100)) == raw
    assert taken(raw + b"next", length="13", read=lambda body: body.readlines()) == [b"one\n", b"two\n", b"three"]
    assert taken(raw, length="13", read=in_parts) == (b"on", b"e\n", b"t", b"wo\nthree", b"")


def test_a_body_that_ends_early_is_an_error_in_any_way() -> None:
    with pytest.raises(OSError, match="4 bytes did not come"):
        taken(b"one", length="7", read=lambda body: body.read())
    with pytest.raises(OSError, match="cut short"):
        taken(b"one", length="7", read=lambda body: body.readlines())


@pytest.mark.parametrize("length", ["", "0"])
def test_a_request_without_a_body_is_left_alone(length: str) -> None:
    assert isinstance(taken(b"", length=length), io.BytesIO)


def test_what_was_not_read_is_dropped_but_not_what_follows() -> None:
    sent = io.BytesIO(b"one\ntwo" + b"next")

    WholeBody(lambda environ, start_response: [])({"wsgi.input": sent, "CONTENT_LENGTH": "7"}, None)  # type: ignore[arg-type]  # it is not called

    assert sent.read() == b"next"
