"""A receiver of callbacks for tests: a real HTTP server in a thread, which answers as the test wants."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    path: str
    method: str
    headers: dict[str, str]
    body: bytes
    loop_time: float


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def no_content(request: web.Request) -> web.StreamResponse:
    return web.Response(status=204)


def answering(status: int, **headers: str) -> Answer:
    """An answer with this status; header names have underscores for dashes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(
            status=status, text="the answer", headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    return answer


async def echo(request: web.Request) -> web.StreamResponse:
    """Refuses what it got, and repeats it: in the body, and the member ``card`` in a header."""
    text = await request.text()
    return web.Response(status=422, text=f"cannot take {text}", headers={"X-Echo": json.loads(text)["card"]})


@dataclass
class Receiver:
    """Listens on 127.0.0.1 and keeps what it gets."""

    answer: Answer = no_content
    received: list[Received] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Receiver:
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    def url(self, path: str = "/hook") -> str:
        """An address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def wait_for(self, count: int, *, seconds: float = 20) -> list[Received]:
        """What came in, once there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, seconds), self.received
            return list(self.received)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        with self._changed:
            self.received.append(Received(request.path, request.method, dict(request.headers), body, self._loop.time()))
            self._changed.notify_all()
        return await self.answer(request)
