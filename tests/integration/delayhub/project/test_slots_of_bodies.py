"""Clients that send their body slowly, and all others."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.http_bytes import ask_http2, begin_http2
from tests.waiting import wait_until
from tests.web_server import KEY, prepare_database, web_server

THREADS, SLOTS = 6, 4
TOKEN = "a" * 32
LOGIN = {
    "Cookie": f"csrftoken={TOKEN}",
    "X-CSRFToken": TOKEN,
    "Content-Type": "application/x-www-form-urlencoded",
}


@pytest.fixture(scope="module")
def web_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the ready-made project's web server, as a site starts it, with few threads."""
    folder = tmp_path_factory.mktemp("web")
    with web_server(folder, threads=THREADS, DELAYHUB_BODY_SLOTS=str(SLOTS)) as port:
        yield port


def slow_http1(port: int) -> socket.socket:
    """A connection that has sent the head of a request, and one byte of its body."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = "".join(f"{name}: {value}\r\n" for name, value in LOGIN.items())
    connection.sendall(f"POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}Content-Length: 100\r\n\r\nu".encode())
    return connection


def slow_http2(port: int) -> socket.socket:
    """A connection that has sent the head of a request; a body of unknown length is to follow."""
    return begin_http2(port, "POST /api/v1/jobs", {"authorization": f"Bearer {KEY}"})


def livez_seconds(port: int) -> float:
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=60) as answer:
        assert answer.status == 200
    return time.monotonic() - began


def answer_to_body(port: int) -> tuple[int, str | None]:
    """The status of a request with a body, and when to come again."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/jobs", data=b"{}", timeout=60) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"]


def test_slow_bodies_do_not_hold_what_has_no_body(web_port: int) -> None:
    with ExitStack() as open_ones:
        # Twice as many as there are threads: some wait for a slot as health is asked for.
        for _ in range(THREADS * 2):
            open_ones.enter_context(slow_http1(web_port))

        assert livez_seconds(web_port) < 10

        # Another body is told at once to come again.
        assert answer_to_body(web_port) == (503, "1")

    # The slow clients have gone.
    wait_until(lambda: answer_to_body(web_port) == (401, None), otherwise="a slot is free again")


def test_nor_do_slow_bodies_of_unknown_length_over_http2(tmp_path: Path) -> None:
    prepare_database(tmp_path)
    with (
        web_server(tmp_path, http="auto", threads=THREADS, DELAYHUB_BODY_SLOTS=str(SLOTS)) as port,
        ExitStack() as open_ones,
    ):
        for _ in range(THREADS * 2):
            open_ones.enter_context(slow_http2(port))

        assert livez_seconds(port) < 10
        assert answer_to_body(port) == (503, "1")


def test_clients_of_http2_find_no_server(web_port: int) -> None:
    """Granian keeps a thread for a body over HTTP/2 whose client has gone, until the server ends."""
    with pytest.raises(OSError, match=r"closed|reset"):
        ask_http2(web_port, "POST /api/v1/jobs", {}, b"{}")


def test_a_body_that_came_leaves_its_slot(web_port: int) -> None:
    for _ in range(SLOTS * 3):
        assert answer_to_body(web_port) == (401, None)
