"""A form that was cut short is refused, not taken for a shorter one: on a real web server."""

from __future__ import annotations

import io
import socket
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


def body_of(raw: bytes, *, length: str) -> Any:
    """What an application reads from."""
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        del start_response
        seen.update(environ)
        return []

    WholeBody(application)({"wsgi.input": io.BytesIO(raw), "CONTENT_LENGTH": length}, None)  # type: ignore[arg-type]  # it is not called
    return seen["wsgi.input"]


def test_a_whole_body_is_read_in_any_way_and_no_further() -> None:
    raw = b"one\ntwo\nthree"

    assert body_of(raw + b"next", length="13").read() == raw
    assert body_of(raw + b"next", length="13").read(100) == raw
    assert body_of(raw + b"next", length="13").readlines() == [b"one\n", b"two\n", b"three"]
    body = body_of(raw, length="13")
    assert (body.read(2), body.readline(), body.readline(1), body.read(), body.read()) == (
        b"on",
        b"e\n",
        b"t",
        b"wo\nthree",
        b"",
    )


def test_a_body_that_ends_early_is_an_error_in_any_way() -> None:
    with pytest.raises(OSError, match="4 bytes did not come"):
        body_of(b"one", length="7").read()
    with pytest.raises(OSError, match="cut short"):
        body_of(b"one", length="7").readlines()


@pytest.mark.parametrize("length", ["", "0"])
def test_a_request_without_a_body_is_left_alone(length: str) -> None:
    assert isinstance(body_of(b"", length=length), io.BytesIO)
