"""Hooks and checks as ASGI applications."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from delayhub.receiver import Answer, Verifier
from delayhub.receiver.asgi import SCOPE_KEY, AsgiHook, VerifiedAsgi
from delayhub.receiver.once import AsyncHook, Hook
from tests.signed_callbacks import SECRET, signed
from tests.unit.delayhub.receiver.open_inbox import AsyncOpenInbox, OpenInbox

VERIFIER = Verifier(SECRET)
Message = MutableMapping[str, Any]


async def respond(app: Any, headers: dict[str, str], *parts: bytes, whole: bool = True) -> list[Message]:
    """What the application sends on a request whose body comes in such parts; without its end where not whole."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append({"type": "http.request", "body": b""} if whole else {"type": "http.disconnect"})
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await app({"type": "http", "headers": raw}, receive, send)
    return sent


def status(*messages: Message) -> int:
    return int(messages[0]["status"])


async def echo(scope: Message, receive: Any, send: Any) -> None:
    """Sends back the callback's id and the body."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope[SCOPE_KEY].id.encode() + body})


def test_a_hook_answers_a_request_that_comes_in_parts() -> None:
    headers = signed("job-1", body=b"12345")

    async def answered(callback: Any, work: Any) -> Answer:
        return Answer(200, {"DelayHub-Action": "done"}, callback.body)

    hook: Any = AsyncHook(answered, verifier=VERIFIER, inbox=AsyncOpenInbox(), count_redrives=True)
    start, body = asyncio.run(respond(AsgiHook(hook), headers, b"12", b"345"))

    assert (start["status"], body["body"]) == (200, b"12345")
    assert (b"delayhub-action", b"done") in start["headers"]


def test_a_synchronous_hook_answers_too() -> None:
    hook: Any = Hook(lambda callback, work: None, verifier=VERIFIER, inbox=OpenInbox(), count_redrives=True)

    start, _ = asyncio.run(respond(AsgiHook(hook), signed("job-1", body=b"1"), b"1"))

    assert start["status"] == 204
    assert b"content-length" not in dict(start["headers"])


def test_the_application_behind_the_check_gets_callbacks_only() -> None:
    app = VerifiedAsgi(echo, VERIFIER)

    _, body = asyncio.run(respond(app, signed("job-1", body=b"12"), b"1", b"2"))
    refused = asyncio.run(respond(app, signed("job-1", body=b"12"), b"1", b"3"))

    assert body["body"] == b"job-112"
    assert status(*refused) == 401


@pytest.mark.parametrize("kind", ["hook", "check"])
def test_a_body_that_is_too_long_is_refused_and_a_client_that_went_is_left(kind: str) -> None:
    hook: Any = Hook(lambda callback, work: None, verifier=VERIFIER, inbox=OpenInbox(), count_redrives=True)
    app = AsgiHook(hook, most_bytes=3) if kind == "hook" else VerifiedAsgi(echo, VERIFIER, most_bytes=3)

    assert status(*asyncio.run(respond(app, {}, b"12", b"34"))) == 413
    assert asyncio.run(respond(app, signed("job-1", body=b"12"), b"1", whole=False)) == []


def test_a_hook_answers_http_only_and_the_check_hands_on_the_rest() -> None:
    hook: Any = Hook(lambda callback, work: None, verifier=VERIFIER, inbox=OpenInbox(), count_redrives=True)
    seen = []

    async def lifespan(scope: Message, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def call(app: Any) -> None:
        await app({"type": "lifespan"}, None, None)

    with pytest.raises(ValueError, match="HTTP only"):
        asyncio.run(call(AsgiHook(hook)))
    asyncio.run(call(VerifiedAsgi(lifespan, VERIFIER)))

    assert seen == ["lifespan"]
