"""Reads the body of a request whole: of bounded size, of known or unknown length, or not at all.

A client that does not know how long its body will be sends no ``Content-Length``: chunks, or HTTP/2. Django reads as
many bytes as that header says, so such a body looks empty to it under WSGI: a cancel would then lose its ``version``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tasksapp.api.http.problems import FieldError, Problem, Refused


class Readable(Protocol):
    """A request of Django."""

    META: dict[str, Any]

    def read(self, size: int = ..., /) -> bytes: ...


def read_body(request: Readable, *, max_bytes: int) -> bytes:
    """The whole body of a request; b"" where it has none.

    Raises Refused where the body is too large (413), did not come whole (400), or has no length and the server does
    not say where it ends (411).
    """
    headers = request.META
    if "CONTENT_LENGTH" in headers and "HTTP_TRANSFER_ENCODING" not in headers:
        return _read_declared(request, max_bytes=max_bytes)
    return _read_to_the_end(request, max_bytes=max_bytes)


def _read_declared(request: Readable, *, max_bytes: int) -> bytes:
    declared = request.META["CONTENT_LENGTH"] or "0"
    if not (declared.isascii() and declared.isdigit()):
        raise _incomplete(f"Content-Length must be a whole number, got {declared[:100]!r}.")
    length = int(declared) if len(declared) < 19 else max_bytes + 1
    if length > max_bytes:
        raise _too_large(f"The body may have {max_bytes} bytes, got {declared[:100]}.")
    raw = _read(request.read, length)
    if len(raw) < length:
        raise _incomplete(f"The body was cut short: {length} bytes were declared, {len(raw)} came.")
    return raw


def _read_to_the_end(request: Readable, *, max_bytes: int) -> bytes:
    headers = request.META
    is_chunked = "HTTP_TRANSFER_ENCODING" in headers
    # In HTTP/1 a body without a length is chunked, or there is none. Later versions have no header for chunks.
    is_http1 = headers.get("SERVER_PROTOCOL", "HTTP/1.1").startswith("HTTP/1")
    if "wsgi.input" not in headers:
        read = request.read  # ASGI: Django has read to the end already, or has aborted the request
    elif is_http1 and not is_chunked:
        return b""
    elif headers.get("wsgi.input_terminated"):
        read = headers["wsgi.input"].read  # the server delimits it; Django's own stream ends after no bytes
    else:
        detail = "Send the body with a Content-Length: this web server does not read a body of unknown length."
        raise Refused(Problem(status=411, code="length_required", detail=detail))
    raw = _read(read, max_bytes + 1)
    if len(raw) > max_bytes:
        raise _too_large(f"The body may have {max_bytes} bytes, got more.")
    if not raw and (is_chunked or (not is_http1 and headers.get("CONTENT_TYPE"))):
        # Some servers end the body quietly where the connection broke before its first byte.
        raise _incomplete("A body was announced, but none came. For an empty one, send {} or a Content-Length of 0.")
    return raw


def _read(read: Callable[[int], bytes], size: int) -> bytes:
    """Up to that many bytes; fewer only where there are no more."""
    parts = []
    try:
        while size > 0 and (part := read(size)):
            parts.append(part)
            size -= len(part)
    except OSError:  # Django's UnreadablePostError, or the server's own
        raise _incomplete("The connection broke before the whole body had come.") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(detail: str) -> Refused:
    return Refused(Problem(status=413, code="too_large", detail=detail))


def _incomplete(detail: str) -> Refused:
    error = FieldError(None, "incomplete", detail)
    return Refused(Problem(status=400, code="incomplete_body", detail=detail, errors=[error]))
