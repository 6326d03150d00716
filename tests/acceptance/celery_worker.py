"""Real Celery workers for tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from delayhub.local.service import Service
from tests.kept_folder import UNCHECKED
from tests.waiting import wait_until

PROJECT = Path(__file__).parent / "celery_project"
#: What a worker logs when it takes tasks.
READY = " ready."


class CeleryWorker:
    """One worker process of the test project, ready for tasks when the ``with`` block begins.

    Args:
        env: BROKER_URL, RESULT_URL and what else the project reads.
        pool: solo, threads, prefork, gevent or eventlet.
        folder: where its log goes.
        options: more of the worker's command line.
    """

    def __init__(self, env: dict[str, str], *, pool: str, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.log_path = folder / f"worker-{pool}-{time.monotonic_ns()}.log"
        self.command = [sys.executable, "-m", "celery", "-A", "proj", "worker", "-P", pool, "-l", "INFO", "-c", "2"]
        self.name = f"w{time.monotonic_ns()}"
        self.command += [f"--hostname={self.name}@%h", "--without-mingle", *options]
        self.env = {**os.environ, **env}
        self.env.pop("DJANGO_SETTINGS_MODULE", None)  # it is a project without Django
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, cwd=PROJECT, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        wait_until(
            lambda: READY in self.log or self.process.poll() is not None,
            otherwise=lambda: f"a ready worker: {self.log}",
        )
        assert READY in self.log, self.log  # it may have died of its first task since
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def log(self) -> str:
        """What it wrote so far."""
        return self.log_path.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return self.process is not None and self.process.poll() is None

    def terminate(self, *, seconds: float = 20.0) -> float:
        """Seconds that a warm shutdown took."""
        assert self.process is not None
        start = time.monotonic()
        self.process.terminate()
        self.process.wait(seconds)
        return time.monotonic() - start

    def kill(self) -> None:
        """Ends it and its children as a power cut would."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(60)


def celery_command(env: dict[str, str], *arguments: str) -> str:
    """What ``celery -A proj …`` prints, of the test project; it must succeed."""
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "proj", *arguments],
        cwd=PROJECT,
        env={**own, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def worker_service(app: str, environment: dict[str, str], *options: str, folder: Path) -> Iterator[Service]:
    """A worker of another project, ready for tasks; a test may stop it and launch it again."""
    log = folder / "worker.log"
    service = Service(
        "worker",
        command=[sys.executable, "-m", "celery", "-A", app, "worker", "--loglevel", "INFO", *options],
        environment={**environment, **UNCHECKED},
        log=log,
        is_ready=lambda: READY in log.read_text(),
    )
    service.launch()
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.stop()
