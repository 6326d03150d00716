"""A token server for tests: a receiver that answers a request with an access token, another one each time."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tasksapp.delivery.access_token import AccessToken, Grant, NoToken
from tests.integration.tasksapp.receiver import Answer, Receiver


def giving(*, life: Any = 3_600, **more: Any) -> Answer:
    """An answer with the tokens ``token-1``, ``token-2`` and so on, which live so many seconds."""
    made: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        made.append(f"token-{len(made) + 1}")
        return web.json_response({"access_token": made[-1], "token_type": "Bearer", "expires_in": life, **more})

    return answer


def saying(body: Any, *, status: int = 200) -> Answer:
    """That answer, as JSON unless it is bytes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=raw, content_type="application/json")

    return answer


def slowly(answer: Answer, *, seconds: float) -> Answer:
    """The same answer, after so many seconds."""

    async def late(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await answer(request)

    return late


async def silent(request: web.Request) -> web.StreamResponse:
    """No answer, until who asks has gone."""
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.05)
    return web.Response()


def bearers(receiver: Receiver) -> list[str]:
    """The tokens that a receiver got, in order."""
    return [got.headers.get("Authorization", "").removeprefix("Bearer ") for got in receiver.received]


@dataclass
class Shared:
    """What processes share, in one."""

    left: dict[str, AccessToken | NoToken] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)

    def look(self, grant: Grant) -> AccessToken | NoToken | None:
        return self.left.get(grant.digest)

    def lock(self, grant: Grant, *, seconds: float) -> bool:
        is_free = grant.digest not in self.locked
        self.locked.add(grant.digest)
        return is_free

    def leave(self, grant: Grant, found: AccessToken | NoToken | None) -> None:
        if found is not None:
            self.left[grant.digest] = found
        self.locked.discard(grant.digest)
