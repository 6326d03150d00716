"""Callbacks in ASGI programs: a hook as an application, and a check in front of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from delayhub.errors import BadCallback
from delayhub.receiver.answer import Answer
from delayhub.receiver.once import AsyncHook, Hook, refused
from delayhub.receiver.verifier import Verifier
from delayhub.receiver.wsgi import MOST_BYTES, TOO_LONG

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Where the application behind ``VerifiedAsgi`` finds the callback in its scope.
SCOPE_KEY = "delayhub.callback"


class AsgiHook:
    """The hook as an ASGI application, such as the endpoint of a Starlette ``Route``.

    Args:
        hook: what ``once`` made; a synchronous one runs in a thread.
        most_bytes: a longer body is refused with 413.
    """

    def __init__(self, hook: Hook[Any] | AsyncHook[Any], *, most_bytes: int = MOST_BYTES) -> None:
        self._hook = hook
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            raise ValueError(f"this application answers HTTP only, got {scope['type']}")
        body = await _body_of(receive, send, most_bytes=self._most_bytes)
        if body is None:
            return
        headers = _headers_of(scope)
        if isinstance(self._hook, AsyncHook):
            answer = await self._hook(headers, body)
        else:
            answer = await asyncio.to_thread(self._hook, headers, body)
        await _send(send, answer)


class VerifiedAsgi:
    """An ASGI application that gets only callbacks with a right signature; others are answered with 401.

    It finds the callback in ``scope["delayhub.callback"]``. Requests other than HTTP pass.

    Args:
        app: the application.
        verifier: checks the signature.
        most_bytes: a longer body is refused with 413.
    """

    def __init__(self, app: AsgiApp, verifier: Verifier, *, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._verifier = verifier
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or hands it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _body_of(receive, send, most_bytes=self._most_bytes)
        if body is None:
            return
        try:
            callback = self._verifier.verify(_headers_of(scope), body)
        except BadCallback as bad:
            await _send(send, refused(bad))
            return
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> MutableMapping[str, Any]:
            return waiting.pop() if waiting else await receive()

        await self._app({**scope, SCOPE_KEY: callback}, receive_again, send)


async def _body_of(receive: Receive, send: Send, *, most_bytes: int) -> bytes | None:
    """The body; None where the client has gone, or its body was refused as too long."""
    parts, length = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        length += len(parts[-1])
        if length > most_bytes:
            await _send(send, TOO_LONG)
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _headers_of(scope: Scope) -> Iterable[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]


async def _send(send: Send, answer: Answer) -> None:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
    if answer.status != 204:
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
