"""Refuses a request before Django sees it: a problem document for the API, a line of text elsewhere; and cut bodies."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from email.message import Message
from http import HTTPStatus
from io import BufferedReader, RawIOBase
from typing import Any

from django.utils.module_loading import import_string

from delayhub.request_ids import current_request_id, request_id

WSGIApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: Both are loaded with the first refusal: the one needs Django set up, and the app is named by dotted string only.
_PREFIXES = "delayhub.project.browser_middleware.api_prefixes"
_PROBLEM = "tasksapp.api.http.problems.Problem"


def refuse(
    environ: Mapping[str, Any],
    start_response: Callable[..., Any],
    *,
    status: int,
    code: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
) -> Iterable[bytes]:
    """The answer of a WSGI application.

    Args:
        environ: the request.
        start_response: what WSGI gives an application.
        status: the HTTP status.
        code: the kind of problem, as the API names it.
        detail: a sentence for people.
        headers: more headers.
    """
    line = f"{status} {HTTPStatus(status).phrase}"
    if not environ.get("PATH_INFO", "").startswith(import_string(_PREFIXES)()):
        start_response(line, [("Content-Type", "text/plain"), *(headers or {}).items()])
        return [f"{detail}\n".encode()]
    known = request_id(environ.get("HTTP_X_REQUEST_ID"))
    token = current_request_id.set(known)
    try:
        response = import_string(_PROBLEM)(code, detail, headers=headers or {}, own_status=status).response()
    finally:
        current_request_id.reset(token)
    start_response(line, [*response.headers.items(), ("X-Request-Id", known)])
    return [response.content]


#: Python's names of the charsets that are taken; pages of the admin are UTF-8.
CHARSETS = frozenset({"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252"})


def known_charsets(application: WSGIApplication) -> WSGIApplication:
    """The application, for requests in a known charset or without one; others get 415 before Django sees them.

    Of some of Python's codecs (``utf-7``, ``unicode_escape``) half a surrogate pair can be made, which no database
    takes. Others (``base64``) decode no text at all: Django 5.2 fails there before any of its handlers.
    """

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        content_type = environ.get("CONTENT_TYPE", "")
        if "charset" not in content_type.lower() or _is_known(content_type):
            return application(environ, start_response)
        detail = "Send text as UTF-8, and name no other charset in Content-Type."
        return refuse(environ, start_response, status=415, code="unsupported_media_type", detail=detail)

    return answer


def _is_known(content_type: str) -> bool:
    parsed = Message()
    parsed["Content-Type"] = content_type
    charset = parsed.get_param("charset", "utf-8")
    try:
        return isinstance(charset, str) and codecs.lookup(charset).name in CHARSETS
    except LookupError:
        return True  # Django goes on as if there were none


#: How much of a body that was not read is dropped, and for how long.
DROPPED_BYTES, DROPPED_SECONDS = 64_000_000, 10.0


class WholeBody:
    """A WSGI application that gets bodies as long as their ``Content-Length`` says, or an OSError as it reads them.

    Django makes it an ``UnreadablePostError``, with which a form is refused. What is left of a body when the answer is
    ready is read and dropped: a client that still sends would find a broken pipe, and not the answer.

    Args:
        application: what answers.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answers the request."""
        length = environ.get("CONTENT_LENGTH") or "0"
        if length != "0" and length.isdigit() and "HTTP_TRANSFER_ENCODING" not in environ:
            body = RequestBody(environ["wsgi.input"], length=int(length), is_whole=True)
            environ["wsgi.input"] = BufferedReader(body)
            answer = self._application(environ, start_response)
            _drop(body)
            return answer
        answer = self._application(environ, start_response)
        if "HTTP_TRANSFER_ENCODING" in environ and environ.get("wsgi.input_terminated"):
            _drop(environ["wsgi.input"])
        return answer


def _drop(body: Any) -> None:
    """Read what is left of a body, up to a bound."""
    left, end = DROPPED_BYTES, time.monotonic() + DROPPED_SECONDS
    with suppress(OSError):  # it was cut short
        while left > 0 and time.monotonic() < end and (part := body.read(min(left, 65_536))):
            left -= len(part)


class RequestBody(RawIOBase):
    """A request's body as it comes, for a ``BufferedReader``, which makes lines of it.

    Args:
        file: where the server has it.
        length: as it was declared; below 0 where it was not.
        is_whole: whether a body that ends before that is an OSError as it is read.
        ended: called once all of it has come, or nothing more does.
    """

    def __init__(
        self, file: Any, *, length: int, is_whole: bool = False, ended: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__()
        self._file, self._left, self._is_whole, self._ended = file, length, is_whole, ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """How many bytes came; 0 for none any more."""
        part = self._file.read(len(buffer) if self._left < 0 else min(len(buffer), self._left)) if self._left else b""
        buffer[: len(part)] = part
        if not part and self._left and self._is_whole:
            raise OSError(f"the body was cut short: {self._left} bytes did not come")
        if self._left > 0:
            self._left -= len(part)
        if not part or not self._left:
            self._ended()
        return len(part)
