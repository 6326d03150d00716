"""Creates over REST: a real web server with one process on one core, asked by several connections at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.cores import WORKER_CORE, pin
from benchmarks.jobs_bench import Bench
from tests.repository import ROOT
from tests.waiting import wait_until

CONNECTIONS = 8
BULK = 500


def rest(bench: Bench, count: int) -> dict[str, Any]:
    """Creates a second over REST and CPU time of the web server for each: single ones, and in bulks."""
    from tasksapp.access.keys import issue_key
    from tasksapp.models import Job

    code = bench.biz_type("rest", "ok/rest")
    key = issue_key("benchmark").key

    def job(number: int) -> dict[str, Any]:
        return {"biz_type": code, "biz_id": f"order-{number}", "delay": 2400, "body": {"order": number}}

    def bulk(number: int) -> dict[str, Any]:
        return {"jobs": [job(number * BULK + place) for place in range(BULK)]}

    bulks = max(2, count // BULK)
    with web_server(bench) as server:
        single_path, bulk_path = Path(server.port, "/api/v1/jobs", key), Path(server.port, "/api/v1/jobs/bulk", key)
        server.measure(single_path, job, min(count, 200))  # so that every thread has its connections
        single = server.measure(single_path, job, count)
        many = server.measure(bulk_path, bulk, bulks)
    Job.objects.all().delete()
    return {
        "REST creates/s, single": round(count / single.seconds),
        "REST µs/create, web server, single": round(single.cpu_seconds / count * 1e6),
        "REST creates/s, bulk of 500": round(bulks * BULK / many.seconds),
        "REST µs/create, web server, bulk of 500": round(many.cpu_seconds / (bulks * BULK) * 1e6, 1),
    }


@dataclass(frozen=True)
class Spent:
    """What a number of requests took: on the clock, and of the web server's CPU."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Path:
    """Where to ask, and by whose key."""

    port: int
    path: str
    key: str

    def request(self, body: Any) -> bytes:
        """The bytes of a POST."""
        raw = json.dumps(body).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        return head.encode() + raw


@dataclass(frozen=True)
class WebServer:
    """A running web server."""

    process: psutil.Process
    port: int

    def measure(self, path: Path, body: Callable[[int], Any], count: int) -> Spent:
        """What it takes to answer them all with 201."""
        requests = [path.request(body(number)) for number in range(count)]
        cpu, began = self._cpu(), time.perf_counter()
        asyncio.run(_ask_all(self.port, requests))
        return Spent(time.perf_counter() - began, self._cpu() - cpu)

    def _cpu(self) -> float:
        spent = [process.cpu_times() for process in (self.process, *self.process.children(recursive=True))]
        return sum(times.user + times.system for times in spent)


@contextlib.contextmanager
def web_server(bench: Bench) -> Iterator[WebServer]:
    """A web server with one process on the worker's core; it ends with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--blocking-threads", "4", "--no-ws", "--log-level", "warning"]
    log = bench.rig.folder / "web.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            [*command, "delayhub.project.wsgi:application"],
            cwd=ROOT,
            env={**bench.rig.environment, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=output,
        )
    pin(started.pid, WORKER_CORE)
    try:
        wait_until(lambda: _listens(port), within_seconds=60, otherwise=log.read_text)
        pin(0)
        yield WebServer(psutil.Process(started.pid), port)
    finally:
        started.terminate()
        started.wait(30)


async def _ask_all(port: int, requests: list[bytes]) -> None:
    """Sends them over a few connections, each waiting for its answer before it sends the next."""
    waiting = iter(requests)

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
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
