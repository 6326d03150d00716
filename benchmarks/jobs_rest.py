"""Creates over REST: a real web server with one process on one core, asked by several connections at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.cores import WORKER_CORE, pin, used_by_family
from benchmarks.jobs_rig import Rig
from tests.waiting import wait_until

CONNECTIONS = 8
BULK = 500


@dataclass(frozen=True)
class Spent:
    """What a number of requests took: on the clock, and of the web server's CPU."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Api:
    """Where to create jobs, and by whose key."""

    port: int
    key: str

    def single(self, body: Any) -> bytes:
        """The bytes of a create."""
        return self._post("/api/v1/jobs", body)

    def bulk(self, body: Any) -> bytes:
        """The bytes of many creates."""
        return self._post("/api/v1/jobs/bulk", body)

    def _post(self, path: str, body: Any) -> bytes:
        raw = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        return head.encode() + raw


@dataclass(frozen=True)
class WebServer:
    """A running web server."""

    pid: int
    port: int

    def measure(self, call: Callable[[Any], bytes], bodies: Iterable[Any], *, per_second: float = 0.0) -> Spent:
        """What it takes to answer them all with 201: so many a second, or as many as go."""
        requests = [call(body) for body in bodies]
        before, began = used_by_family(self.pid), time.perf_counter()
        asyncio.run(_ask_all(self.port, requests, pause=1 / per_second if per_second else 0.0))
        return Spent(time.perf_counter() - began, used_by_family(self.pid) - before)


@contextlib.contextmanager
def web_server(made: Rig) -> Iterator[WebServer]:
    """A web server with one process on the worker's core; it ends with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [made.python, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--blocking-threads", "4", "--no-ws", "--log-level", "warning"]
    log = made.folder / "web.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            [*command, "delayhub.project.wsgi:application"],
            cwd=made.root,
            env={**made.environment, "PYTHONPATH": str(made.root)},
            stdout=output,
            stderr=output,
        )
    pin(started.pid, WORKER_CORE)
    try:
        wait_until(lambda: _listens(port), within_seconds=60, otherwise=log.read_text)
        pin(0)
        yield WebServer(started.pid, port)
    finally:
        started.terminate()
        started.wait(30)


async def _ask_all(port: int, requests: list[bytes], *, pause: float) -> None:
    """Sends them over a few connections, each waiting for its answer, and for its turn, before it sends the next."""
    waiting, began = iter(enumerate(requests)), time.monotonic()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number, request in waiting:
            await asyncio.sleep(max(0.0, began + number * pause - time.monotonic()))
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            body = await reader.readexactly(int(head.partition("content-length:")[2].partition("\r\n")[0]))
            if not head.startswith("http/1.1 201"):
                raise RuntimeError(f"{head.splitlines()[0]}: {body.decode()[:500]}")
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*[ask() for _ in range(CONNECTIONS)])


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
