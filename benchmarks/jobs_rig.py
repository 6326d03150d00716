"""What benchmarks and chaos runs of jobs stand on: Redis, a database, workers and a receiver, each a real process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from benchmarks.cores import WORKER_CORE, pin
from benchmarks.jobs_cost import Processes
from benchmarks.processes import QUIET, start
from delayhub.local.redis_server import RedisServer
from tests.own_postgres import OwnPostgres
from tests.repository import ROOT
from tests.waiting import wait_until


@dataclass(frozen=True)
class Seen:
    """One callback, as the receiver saw it."""

    at_us: int
    job_id: str
    path: str
    due_us: int

    @property
    def lateness_ms(self) -> float:
        return (self.at_us - self.due_us) / 1000


@dataclass
class Rig:
    """The processes of one run."""

    folder: Path
    redis: RedisServer
    database: Database
    extra: dict[str, str] = field(default_factory=dict)
    #: The checkout whose code the workers run, by the Python of its own environment.
    root: Path = ROOT
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    receivers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def python(self) -> str:
        """The Python of the checkout's environment; this one, for this checkout."""
        return sys.executable if self.root == ROOT else str(self.root / ".venv/bin/python")

    @property
    def environment(self) -> dict[str, str]:
        """What every process of the project is told."""
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            "DELAYHUB_SECRET_KEY": "benchmark" * 8,
            "DELAYHUB_DATA_DIR": str(self.folder),
            "DELAYHUB_DATABASE_URL": self.database.url,
            "DELAYHUB_BROKER_URL": self.redis.url.replace("redis://", "delayhub://"),
            "DELAYHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
            # The bursts that all fail would open it after a moment, and then measure its pauses.
            "DELAYHUB_BREAKER_FAILURES": "100000",
            "DELAYHUB_LOG_LEVEL": "WARNING",
            "PYTHONWARNINGS": "ignore",
            **self.extra,
        }

    def set_django_up(self) -> None:
        """Makes this process one of the project, with an empty database."""
        os.environ.update(self.environment)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        call_command("flush", verbosity=0, interactive=False)

    def start_receiver(self) -> int:
        """The port of another one; all write the same log."""
        command = [sys.executable, "-m", "benchmarks.jobs_receiver", str(self.folder / "receiver.log")]
        receiver = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        pin(receiver.pid)
        self.receivers.append(receiver)
        assert receiver.stdout is not None
        return int(receiver.stdout.readline())

    def start_worker(
        self, *, pool: str = "solo", app: str = "delayhub.project", wait: bool = True
    ) -> subprocess.Popen[bytes]:
        """A Celery worker; it is ready when it has said so in its log, unless nothing is to be waited for."""
        log = self.folder / f"worker-{len(self.workers)}.log"
        command = ["-m", "celery", "-A", app, "worker", "-P", pool, "-c", "4" if pool == "threads" else "1", *QUIET]
        command += ["--without-heartbeat", "-l", "INFO", "-n", f"w{time.time_ns()}@%h"]
        own = {"DELAYHUB_LOG_LEVEL": "INFO", "THREADS_FILE": str(self.folder / "threads.json")}
        worker = start(command, log=log, cwd=self.root, python=self.python, **{**self.environment, **own})
        pin(worker.pid, WORKER_CORE)  # at once, so that all its threads and children stay there
        self.workers.append(worker)
        if not wait:
            return worker
        wait_until(
            lambda: "ready" in log.read_text() or worker.poll() is not None,
            within_seconds=60,
            otherwise=lambda: log.read_text()[-3000:],
        )
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended: {log.read_text()[-3000:]}")
        return worker

    @contextlib.contextmanager
    def worker(self) -> Iterator[Processes]:
        """A worker for as long as the block lasts, and whose CPU time to look at meanwhile."""
        threads = self.folder / "threads.json"
        threads.write_text("{}")
        worker = self.start_worker(app="benchmarks.jobs_worker")
        try:
            wait_until(lambda: "delayhub-dispatcher" in threads.read_text(), within_seconds=20)
            yield Processes(worker.pid, threads, self.redis.pid, self.database.pid)
        finally:
            worker.terminate()
            worker.wait(60)

    def seen(self) -> list[Seen]:
        """Every callback so far."""
        lines = (self.folder / "receiver.log").read_text().splitlines()
        return [_seen(*line.split(" ")) for line in lines if line.count(" ") == 3]

    def count_seen(self) -> int:
        """How many that are."""
        return (self.folder / "receiver.log").read_bytes().count(b"\n")

    def forget_seen(self) -> None:
        """Empties the receiver's log."""
        os.truncate(self.folder / "receiver.log", 0)


@contextlib.contextmanager
def rig(*, root: Path = ROOT, **extra: str) -> Iterator[Rig]:
    """A rig without workers; everything it starts ends with it."""
    with (
        tempfile.TemporaryDirectory(prefix="delayhub-jobs-") as name,
        contextlib.closing(Database()) as database,
        RedisServer(append_only=True) as server,
    ):
        pin(server.pid)
        made = Rig(Path(name), server, database, extra, root)
        try:
            yield made
        finally:
            for process in [*made.workers, *made.receivers]:
                if process.poll() is None:
                    process.send_signal(signal.SIGCONT)
                    process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


class Database:
    """A PostgreSQL: that of ``DATABASE_URL``, else a private server."""

    def __init__(self) -> None:
        given = os.environ.get("DATABASE_URL")
        self._own = None if given else OwnPostgres()
        self.url = given or self._own.url  # type: ignore[union-attr]  # one of them is there

    @property
    def pid(self) -> int | None:
        """The postmaster's, where the server is ours."""
        return None if self._own is None else self._own.pid

    def restart(self) -> None:
        """Stops it as if it had crashed, and starts it again; a server of others only loses its connections."""
        if self._own is not None:
            self._own.crash()
            self._own.start()
            return
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def close(self) -> None:
        """Ends a private server and removes its data."""
        if self._own is not None:
            self._own.close()


def _seen(at_us: str, job_id: str, path: str, due: str) -> Seen:
    due_us = 0 if due == "-" else round(datetime.fromisoformat(due).timestamp() * 1_000_000)
    return Seen(int(at_us), job_id, path, due_us)
