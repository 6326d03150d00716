"""Callbacks in WSGI programs: a hook as an application, and a check in front of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from io import BytesIO
from typing import Any

from delayhub.errors import BadCallback
from delayhub.receiver.answer import Answer
from delayhub.receiver.once import Hook, refused
from delayhub.receiver.verifier import Verifier

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]

#: DelayHub's bodies have 64 KB at most, unless its site's ``BODY_BYTES`` says otherwise.
MOST_BYTES = 1_048_576
TOO_LONG = Answer(413, {}, b"the body is too long")
#: Where the application behind ``VerifiedWsgi`` finds the callback in its environment.
ENVIRON_KEY = "delayhub.callback"


class WsgiHook:
    """The hook as a WSGI application.

    Args:
        hook: what ``once`` made.
        most_bytes: a longer body is refused with 413.
    """

    def __init__(self, hook: Hook[Any], *, most_bytes: int = MOST_BYTES) -> None:
        self._hook = hook
        self._most_bytes = most_bytes

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answers a request."""
        body = body_of(environ, most_bytes=self._most_bytes)
        answer = TOO_LONG if body is None else self._hook(headers_of(environ), body)
        return _respond(answer, start_response)


class VerifiedWsgi:
    """A WSGI application that gets only callbacks with a right signature; others are answered with 401.

    It finds the callback in ``environ["delayhub.callback"]``.

    Args:
        app: the application.
        verifier: checks the signature.
        most_bytes: a longer body is refused with 413.
    """

    def __init__(self, app: WsgiApp, verifier: Verifier, *, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._verifier = verifier
        self._most_bytes = most_bytes

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answers a request, or hands it on."""
        body = body_of(environ, most_bytes=self._most_bytes)
        if body is None:
            return _respond(TOO_LONG, start_response)
        try:
            callback = self._verifier.verify(headers_of(environ), body)
        except BadCallback as bad:
            return _respond(refused(bad), start_response)
        handed_on = {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body)), ENVIRON_KEY: callback}
        return self._app({**environ, **handed_on}, start_response)


def headers_of(environ: Environ) -> dict[str, str]:
    """The request's headers; where one comes twice, servers have joined its values by a comma."""
    found = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    return {**found, "content-type": environ.get("CONTENT_TYPE", "")}


def body_of(environ: Environ, *, most_bytes: int) -> bytes | None:
    """The request's body; None where it is too long."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isascii() and length.isdigit():
        return environ["wsgi.input"].read(int(length)) if int(length) <= most_bytes else None
    if not environ.get("wsgi.input_terminated"):
        return b""  # reading on would wait for the end of the connection
    body: bytes = environ["wsgi.input"].read(most_bytes + 1)
    return body if len(body) <= most_bytes else None


def _respond(answer: Answer, start_response: StartResponse) -> Iterable[bytes]:
    phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else "Unknown"
    headers = list(answer.headers.items())
    if answer.status != 204:
        headers.append(("Content-Length", str(len(answer.body))))
    start_response(f"{answer.status} {phrase}", headers)
    return [answer.body]
