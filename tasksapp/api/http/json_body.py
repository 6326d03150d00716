"""Reads the JSON body of a request: of bounded size, strictly, and with the same refusals for every view."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any, Protocol

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.json_decoder import JOBS, MAX_BULK, TooManyJobs, decode
from tasksapp.api.http.problems import Refused
from tasksapp.conf import options

#: A request may be longer than the job's body, which the options bound: by its other fields, and by a factor of three,
#: since JSON may write a character of two bytes in six.
ENVELOPE_BYTES = 4_096
ESCAPES = 3
#: Other requests do not grow with a job's body: a certificate with its key, a filter with 1 000 ids, a URL and headers.
LEAST_BYTES = 196_608

#: Requests of so many bytes wait for one another: two at once keep a processor busy. A bulk of 1 000 jobs whose bodies
#: have some hundred bytes is smaller.
LARGE_BYTES = 1_000_000
ROOM_SECONDS = 5
_large = BoundedSemaphore(2)


def fields_of(request: Readable) -> dict[str, Any]:
    """The JSON object in the body of a request about one job, or about no jobs; {} for an empty body.

    Raises Refused as ``read_object`` does.
    """
    return read_object(request, max_bytes=max(LEAST_BYTES, ESCAPES * options().body_bytes) + ENVELOPE_BYTES)


def read_object(request: Readable, *, max_bytes: int) -> dict[str, Any]:
    """The JSON object in the body of a request; {} for an empty body.

    Raises Refused where the body is anything else or did not come whole (400), has no length that can be known (411),
    is too large (413) or has another content type (415).
    """
    raw = read_body(request, max_bytes=max_bytes)
    if not raw:
        return {}
    _require_json(request.META.get("CONTENT_TYPE", ""))
    fields = parse(raw)
    if not isinstance(fields, dict):
        raise _malformed(f"The body must be a JSON object, got {_kind(fields)}.")
    return fields


def parse(raw: bytes) -> Any:
    """The value in those bytes, which must be strict JSON in UTF-8: no NaN, no repeated names, no lone surrogates.

    A job's ``body`` in it is a WrittenJson. Raises Refused (400, or 503 where many large requests are decoded already).
    """
    try:
        text = raw.decode("utf-8")
        if len(raw) < LARGE_BYTES:
            value = decode(text)
        else:
            with room_to_decode():
                value = decode(text)
        if "\\u" in text:
            # Only escapes can make half of a surrogate pair, which no database and no receiver takes.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except TooManyJobs:
        raise number_of_jobs() from None
    except RecursionError:
        raise _malformed("The body is nested too deeply.") from None
    except UnicodeDecodeError as error:
        raise _malformed(f"The body is not UTF-8 (byte {error.start}).") from None
    except UnicodeEncodeError:
        raise _malformed("The body holds half a surrogate pair (\\ud800 to \\udfff).") from None
    except ValueError as error:
        # Of a number with more than 4,300 digits, Python says which of its own settings to change.
        has_long_number = "set_int_max_str_digits" in str(error)
        raise _malformed(
            "A number in the body has too many digits." if has_long_number else f"The body is not JSON: {error}."
        ) from None
    return value


@contextmanager
def room_to_decode() -> Iterator[None]:
    """Lets few large texts be decoded at once: one may take 25 times its size in memory, and seconds.

    Raises Refused (503) where there is no room for so many seconds.
    """
    if not _large.acquire(timeout=ROOM_SECONDS):
        detail = "Many large requests are being read. Send this one again later, or in smaller parts."
        raise Refused.of("busy", detail, again_seconds=1)
    try:
        yield
    finally:
        _large.release()


def number_of_jobs() -> Refused:
    """The refusal of a list that holds no job, or too many."""
    detail = f"jobs must be a list of 1 to {MAX_BULK} jobs"
    return Refused.of("invalid", detail, errors=[FieldError(JOBS, "invalid", detail)])


def _require_json(content_type: str) -> None:
    media_type, _, _ = content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type != "application/json":
        detail = f"The body must be application/json, got {media_type or 'no content type'}."
        raise Refused.of("unsupported_media_type", detail)


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def _malformed(detail: str) -> Refused:
    return Refused.of("malformed", detail)


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
        raise Refused.of("length_required", detail)
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
    return Refused.of("too_large", detail)


def _incomplete(detail: str) -> Refused:
    error = FieldError(None, "incomplete", detail)
    return Refused.of("incomplete_body", detail, errors=[error])
