"""A TLS address of a port that speaks no TLS: a sentence within a few seconds."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from delayhub.local.redis_server import RedisServer
from delayhub.transport.options import CONNECT_SECONDS


def opened(url: str, *, connect_timeout: float, **options: object) -> float:
    """Seconds until the connection was refused; the message is what users need."""
    start = time.monotonic()
    with (
        pytest.raises(OperationalError, match="write delayhub:// in place of delayhubs://"),
        Connection(url, connect_timeout=connect_timeout, transport_options=options) as connection,
    ):
        connection.default_channel  # noqa: B018  which connects
    return time.monotonic() - start


@pytest.fixture
def http_port() -> Iterator[int]:
    """A port where something answers at once, and not in TLS."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(1)
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    client.recv(65536)

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]


def test_a_redis_without_tls_waits_for_more_and_is_given_up_soon(redis_server: RedisServer) -> None:
    assert opened(redis_server.url.replace("redis://", "delayhubs://"), connect_timeout=4) < CONNECT_SECONDS + 20


def test_the_time_for_connecting_is_the_time_for_the_handshake_too(redis_server: RedisServer) -> None:
    url = redis_server.url.replace("redis://", "delayhubs://")

    assert opened(url, connect_timeout=30, socket_connect_timeout=0.2, max_retries=0) < 15


def test_an_answer_that_is_no_tls_needs_no_wait(http_port: int) -> None:
    assert opened(f"delayhubs://127.0.0.1:{http_port}/0", connect_timeout=30, max_retries=0) < 15
