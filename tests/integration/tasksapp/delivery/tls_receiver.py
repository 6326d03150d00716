"""A receiver that speaks TLS as its context says, and answers with the name of who sent the callback."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def tls_receiver(context: ssl.SSLContext) -> Iterator[int]:
    """Its port; it accepts all callbacks.

    It is no server of asyncio, which closes connections without saying what was wrong with TLS.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_take, args=(server, context), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _take(server: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            raw, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(raw, context), daemon=True).start()


def _talk(raw: socket.socket, context: ssl.SSLContext) -> None:
    left = raw.dup()
    try:
        with context.wrap_socket(raw, server_side=True) as connection:
            peer: Any = connection.getpeercert() or {}
            name = dict(pair[0] for pair in peer.get("subject", ())).get("commonName", "nobody").encode()
            while connection.recv(10_000):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name))
    except OSError:
        # As servers do: what was sent already is read, else the alert would be lost with it.
        with suppress(OSError):
            while left.recv(10_000):
                pass
    finally:
        left.close()
