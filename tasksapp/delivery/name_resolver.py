"""NameResolver: looks up the names of hosts, each in a thread of its own, so that a silent one holds up no other."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

#: Lookups under way at once. aiohttp asks once for each name at a time, however many callbacks wait for it; a name
#: server that does not answer keeps a thread for 10 to 30 s. The event loops' own pools have 4 or 6 threads, so that as
#: many silent names stopped the callbacks to all others.
MAX_LOOKUPS = 256


class NameResolver(AbstractResolver):
    """Asks the system for the addresses of a name. Made and used inside one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = asyncio.Semaphore(MAX_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of the host. Raises OSError where the system knows of none."""
        await self._free.acquire()
        found: asyncio.Future[list[Any]] = self._loop.create_future()
        # A daemon: no lookup keeps the process from ending.
        threading.Thread(target=self._look_up, args=(found, host, port, family), daemon=True).start()
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=address[1], family=family, proto=protocol, flags=flags
            )
            for family, _, protocol, _, address in await found
        ]

    async def close(self) -> None:
        """Leaves the lookups that are under way to themselves."""

    def _look_up(self, found: asyncio.Future[list[Any]], host: str, port: int, family: socket.AddressFamily) -> None:
        answer: list[Any] | Exception
        try:
            answer = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except Exception as error:
            answer = error
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish, found, answer)

    def _finish(self, found: asyncio.Future[list[Any]], answer: list[Any] | Exception) -> None:
        self._free.release()
        if found.done():
            return  # who asked was cancelled
        if isinstance(answer, Exception):
            found.set_exception(answer)
        else:
            found.set_result(answer)
