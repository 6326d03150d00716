"""The processes of a peer of ``rivals``: publishers, workers, and the ledger that they write."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cores import OTHER_CORE, WORKER_CORE, used_by_family, used_by_server
from benchmarks.processes import QUIET, kill_group
from benchmarks.rival_peers import Peer
from delayhub.local.redis_server import RedisServer
from tests.repository import ROOT

PATIENCE_SECONDS = 180.0
#: Threads or processes of each pool; together they prefetch 100 messages.
POOLS = {"solo": 1, "threads": 4, "prefork": 4}
PREFETCHED = 100
#: The record of :mod:`benchmarks.rival_shop`, which runs in another environment.
RECORD = struct.Struct("<qdd")
READY = -1


class Spent(NamedTuple):
    """At a moment: seconds of CPU of the worker's processes and of the server, and how many tasks ran."""

    at: float
    worker: float
    server: float
    done: int


class Run(NamedTuple):
    """One run of a task: its number, when it ran and when it was due, in Unix seconds."""

    number: int
    at: float
    due: float


class PeerProcesses:
    """Starts what a peer consists of, on a server that it has to itself.

    Args:
        peer: what is started.
        python: the Python of its environment.
        server: the Redis server.
        folder: for the ledger and the processes' log.
    """

    def __init__(self, peer: Peer, python: Path, server: RedisServer, *, folder: Path) -> None:
        self.peer, self.python, self.server = peer, python, server
        self.ledger, self.log = folder / f"{peer.name}.ledger", folder / f"{peer.name}.log"
        self.client: Any = server.client()
        #: Workers that said that they are ready since the ledger was empty.
        self.started_workers = 0

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        """What the peer's processes are told."""
        own = {"broker_transport_options": dict(self.peer.options)} if self.peer.options else {}
        address = self.server.url.rsplit("/", 1)[0].removeprefix("redis")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "PYTHON"))},
            "RIVAL_PROGRAM": self.peer.program,
            "RIVAL_BROKER": f"{self.peer.scheme}{address}/0",
            "RIVAL_LEDGER": str(self.ledger),
            "RIVAL_SETTINGS": json.dumps(own),
            **settings,
        }

    @contextlib.contextmanager
    def publisher(
        self,
        way: str,
        *,
        count: int,
        start: float = 0.0,
        per_second: float = 1.0,
    ) -> Iterator[Any]:
        """A process that is ready to publish: what is given publishes, and says what that took."""
        given = [way, str(count), str(start), str(per_second)]
        process = self.started(
            ["-m", "benchmarks.rival_shop", *given],
            OTHER_CORE,
            {},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process, ended(process):
            assert process.stdout is not None
            assert process.stdin is not None
            out, into = process.stdout, process.stdin

            def publish() -> dict[str, float]:
                into.write(b"\n")
                into.flush()
                line = out.readline()
                if not line:
                    raise RuntimeError(f"{self.peer.name} could not publish:\n{self.log_tail()}")
                found: dict[str, float] = json.loads(line)
                return found

            if not out.readline():
                raise RuntimeError(f"{self.peer.name} could not publish:\n{self.log_tail()}")
            self.client.delete("warm")
            yield publish

    @contextlib.contextmanager
    def worker(self, pool: str) -> Iterator[subprocess.Popen[bytes]]:
        """A worker that takes tasks; it is killed at the end, with its children."""
        known = self.starts()
        slots, quiet = POOLS[pool], [*QUIET, "--without-heartbeat"]
        if self.peer.program == "potatoq":  # whose solo pool is for debuggers, and does not say when it is ready
            pool, quiet = "prefork" if pool == "solo" else pool, ["--no-scheduler"]
        settings = {"RIVAL_PREFETCH": str(PREFETCHED // slots)}
        command = ["-m", self.peer.program, "-A", "benchmarks.rival_shop", "worker", "-P", pool, "-c", str(slots)]
        process = self.started([*command, *quiet, "-l", "ERROR"], WORKER_CORE, settings)
        with ended(process):
            until = time.monotonic() + 60
            while self.starts() == known:
                if time.monotonic() > until or process.poll() is not None:
                    raise RuntimeError(f"the worker of {self.peer.name} did not start:\n{self.log_tail()}")
                time.sleep(0.01)
            self.started_workers = self.starts()
            yield process

    def started(
        self, command: Sequence[str], core: int, settings: Mapping[str, str], **streams: int
    ) -> subprocess.Popen[bytes]:
        """A process of the peer's on a core; its children stay there."""
        before = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {core})
            with self.log.open("ab") as log:
                streams = {"stdin": subprocess.DEVNULL, "stdout": log.fileno(), "stderr": log.fileno(), **streams}
                return subprocess.Popen(
                    [self.python, *command], cwd=ROOT, env=self.environment(settings), start_new_session=True, **streams
                )
        finally:
            os.sched_setaffinity(0, before)

    def wait(self, process: subprocess.Popen[bytes], count: int) -> Spent:
        """What was spent when so many tasks had run. Raises TimeoutError where that does not come."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.done() < count:
            if time.monotonic() > until or process.poll() is not None:
                raise TimeoutError(f"{self.peer.name}: {self.done()} of {count} tasks ran\n{self.log_tail()}")
            time.sleep(0.005)
        return self.spent(process)

    def spent(self, process: subprocess.Popen[bytes]) -> Spent:
        """What a worker and the server have used up to now."""
        return Spent(time.monotonic(), used_by_family(process.pid), used_by_server(self.client), self.done())

    def empty(self) -> None:
        """An empty server and ledger."""
        self.client.flushall()
        self.started_workers = 0
        self.ledger.write_bytes(b"")
        self.log.write_bytes(b"")

    def runs(self) -> list[Run]:
        """The tasks that ran, in their order."""
        return [run for run in map(Run._make, RECORD.iter_unpack(self._records())) if run.number != READY]

    def starts(self) -> int:
        """How often a worker said that it is ready."""
        return sum(number == READY for number, *_ in RECORD.iter_unpack(self._records()))

    def done(self) -> int:
        """How many tasks ran, by the length of the ledger: to read it at each look took up to 0.4 of a core."""
        return max(0, self.ledger.stat().st_size // RECORD.size - self.started_workers)

    def _records(self) -> bytes:
        found = self.ledger.read_bytes()
        return found[: len(found) // RECORD.size * RECORD.size]

    def used_memory(self) -> int:
        """What Redis keeps, in bytes."""
        return int(self.client.info("memory")["used_memory"])

    def log_tail(self) -> str:
        """What the peer's processes said last."""
        return self.log.read_text(errors="replace")[-3000:]


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kills a process at the end, with those of its group."""
    try:
        yield
    finally:
        kill_group(process)
