"""Clients that send their body slowly, and all others."""

from __future__ import annotations

import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from delayhub.local.redis_server import free_port
from delayhub.local.service import Service
from tests.waiting import wait_until

THREADS, SLOTS = 6, 4


@pytest.fixture(scope="module")
def web_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the ready-made project's web server, as a site starts it, with few threads."""
    folder, port = tmp_path_factory.mktemp("web"), free_port()

    def answers() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)

    service = Service(
        "web server",
        command=[
            *(sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)),
            *("--blocking-threads", str(THREADS), "--no-ws", "delayhub.project.wsgi:application"),
        ],
        environment={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            "DELAYHUB_DATA_DIR": str(folder),
            "DELAYHUB_BODY_SLOTS": str(SLOTS),
        },
        log=Path(folder / "web.log"),
        is_ready=answers,
    )
    service.launch()
    try:
        service.wait_until_ready()
        yield port
    finally:
        service.stop()


def slow_client(port: int) -> socket.socket:
    """A connection that has sent the head of a request, and one byte of its body."""
    token = "a" * 32
    head = (
        "POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Cookie: csrftoken={token}\r\nX-CSRFToken: {token}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nu"
    )
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(head.encode())
    return connection


def healthz_seconds(port: int) -> float:
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
        assert answer.status == 200
    return time.monotonic() - began


def answer_to_body(port: int) -> tuple[int, str | None]:
    """The status of a request with a body, and when to come again."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/jobs", data=b"{}", timeout=20) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"]


def test_slow_bodies_do_not_hold_what_has_no_body(web_port: int) -> None:
    with ExitStack() as open_ones:
        # Twice as many as there are threads: some wait for a slot as health is asked for.
        for _ in range(THREADS * 2):
            open_ones.enter_context(slow_client(web_port))

        assert healthz_seconds(web_port) < 1.0

        # Another body is told at once to come again.
        assert answer_to_body(web_port) == (503, "1")

    # The slow clients have gone.
    wait_until(lambda: answer_to_body(web_port) == (401, None), otherwise="a slot is free again")


def test_a_body_that_came_leaves_its_slot(web_port: int) -> None:
    for _ in range(SLOTS * 3):
        assert answer_to_body(web_port) == (401, None)
