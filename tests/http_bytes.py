"""Requests as bytes: what an HTTP library would not send, or only over TLS."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import IO, Any

TIMEOUT_SECONDS = 20.0
END_OF_CHUNKS = b"0\r\n\r\n"

# Frames of HTTP/2 and their flags (RFC 9113).
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_END_STREAM, _END_HEADERS = 1, 4


def chunks(*parts: bytes) -> bytes:
    """The parts as chunks, without the empty one that ends a body."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def ask_http1(port: int, head: str, headers: Mapping[str, str], raw: bytes, *, breaks: bool = False) -> Any:
    """The JSON that answers a request of these bytes.

    Args:
        port: where the server listens on this machine.
        head: method and path.
        headers: all but Host.
        raw: what follows the head.
        breaks: whether the client ends its side of the connection then.
    """
    lines = [f"{head} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall("\r\n".join(lines).encode() + raw)
        if breaks:
            connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            return json.loads(_body_of_http1(stream))


def ask_http2(port: int, head: str, headers: Mapping[str, str], raw: bytes) -> Any:
    """The JSON that answers a request over HTTP/2 without TLS, whose body has no length and fits into one frame."""
    with begin_http2(port, head, headers) as connection:
        connection.sendall(_frame(_DATA, _END_STREAM, raw, stream=1))
        with connection.makefile("rb") as stream:
            return json.loads(_body_of_http2(stream))


def begin_http2(port: int, head: str, headers: Mapping[str, str]) -> socket.socket:
    """A connection over which a request over HTTP/2 has been sent, without its body."""
    method, path = head.split()
    names = {":method": method, ":scheme": "http", ":path": path, ":authority": "127.0.0.1", **headers}
    block = b"".join(_literal(name.lower().encode(), value.encode()) for name, value in names.items())
    connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
    settings, request = _frame(_SETTINGS, 0, stream=0), _frame(_HEADERS, _END_HEADERS, block, stream=1)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + request)
    return connection


def _body_of_http1(stream: IO[bytes]) -> bytes:
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return stream.read(length)


def _body_of_http2(stream: IO[bytes]) -> bytes:
    body, ended = b"", False
    while not ended:
        head = stream.read(9)
        if len(head) < 9:
            raise ConnectionResetError("the server closed the connection")
        content = stream.read(int.from_bytes(head[:3]))
        if head[5:] == b"\0\0\0\1" and head[3] in {_DATA, _HEADERS}:
            body += content if head[3] == _DATA else b""
            ended = bool(head[4] & _END_STREAM)
    return body


def _frame(kind: int, flags: int, content: bytes = b"", *, stream: int) -> bytes:
    assert len(content) <= 16_384, "no server has to take a larger frame"
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field that is not in any table (RFC 7541, 6.2.2)."""
    assert len(name) < 127
    assert len(value) < 127
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value
