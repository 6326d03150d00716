"""The receiver: says to each attempt what its history has drawn, and notes when it came and was answered."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from proof.order.event import Answer, Asked, Event


class Receiver:
    """Callbacks by the number of the history, which is in their bodies."""

    def __init__(self) -> None:
        self.replies: dict[int, Sequence[tuple[int, float]]] = {}
        self.events: defaultdict[int, list[Event]] = defaultdict(list)
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Receiver]:
        """Takes callbacks on a free port for as long as the block lasts."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for each in list(self._open):
                each.close()
            await asyncio.sleep(0)  # those that read hear of it

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
                reply = await self._take(body, attempt=int(headers["delayhub-attempt"]))
                writer.write(f"HTTP/1.1 {reply} Said\r\nContent-Length: 0\r\n\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _take(self, body: Any, *, attempt: int) -> int:
        came, events = time.monotonic(), self.events[body["history"]]
        replies = self.replies[body["history"]]
        number = sum(event.asked.verb == "callback" for event in events)
        answer = Answer(body=body["mark"], attempt=attempt)
        # Its claim may be as old as the history; the outcome is written once the answer is there.
        events.append(Event(who="worker", asked=Asked(verb="callback"), answer=answer, ended=came))
        reply, pause = replies[min(number, len(replies) - 1)]
        await asyncio.sleep(pause)
        events.append(Event(who="worker", asked=Asked(verb="outcome", reply=reply), began=time.monotonic()))
        return reply
