"""Real Celery workers for tests."""

from __future__ import annotations

import os
import select
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
from tests.acceptance.warm_python import WarmPython
from tests.kept_folder import UNCHECKED
from tests.waiting import wait_until

PROJECT = Path(__file__).parent / "celery_project"
#: The program that people type.
CELERY = Path(sys.executable).with_name("celery")
#: The others replace what is imported already.
WARM_POOLS = {"prefork", "solo", "threads"}
#: What a worker logs when it takes tasks.
READY = " ready."


class CeleryWorker:
    """One worker process of the test project, ready for tasks when the ``with`` block begins.

    Args:
        env: BROKER_URL, RESULT_URL and what else the project reads.
        pool: solo, threads, prefork, gevent or eventlet.
        folder: where its log goes.
        options: more of the worker's command line.
        warm: what it is forked from; without it, Python starts.
    """

    def __init__(
        self,
        env: dict[str, str],
        *,
        pool: str,
        folder: Path,
        options: tuple[str, ...] = (),
        warm: WarmPython | None = None,
    ) -> None:
        self.log_path = folder / f"worker-{pool}-{time.monotonic_ns()}.log"
        self.command = ["-A", "proj", "worker", "-P", pool, "-l", "INFO", "-c", "2"]
        self.name = f"w{time.monotonic_ns()}"
        self.command += [f"--hostname={self.name}@%h", "--without-mingle", *options]
        self.env = {**os.environ, **env}
        self.env.pop("DJANGO_SETTINGS_MODULE", None)  # it is a project without Django
        self._warm = warm if pool in WARM_POOLS and self.env.get("PYTHONPATH") == os.environ.get("PYTHONPATH") else None
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = -1

    def __enter__(self) -> Self:
        if self._warm is not None:
            words = [str(CELERY), *self.command]
            self.pid = self._warm.start(words, folder=PROJECT, environment=self.env, output=self.log_path)
        else:
            command = [sys.executable, "-m", "celery", *self.command]
            with self.log_path.open("wb") as log:
                self._process = subprocess.Popen(
                    command, cwd=PROJECT, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
            self.pid = self._process.pid
        self._ended = os.pidfd_open(self.pid)
        wait_until(
            lambda: (self.log_path.exists() and READY in self.log) or not self.is_running,
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
        return self._ended >= 0 and not self.has_ended(0.0)

    def has_ended(self, seconds: float) -> bool:
        """Whether its process ends within that time."""
        return bool(select.select([self._ended], [], [], seconds)[0])

    def wait(self, seconds: float = 60.0) -> None:
        """Returns when its process has ended."""
        assert self.has_ended(seconds), f"it has not ended: {self.log}"

    def exit_code(self) -> int:
        """Its exit code, once it has ended; of a worker that was not forked."""
        assert self._process is not None, "only its parent knows"
        return self._process.wait()

    def terminate(self, *, seconds: float = 20.0) -> float:
        """Seconds that a warm shutdown took."""
        start = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        self.wait(seconds)
        return time.monotonic() - start

    def kill(self) -> None:
        """Ends it and its children as a power cut would."""
        if self._ended < 0:
            return
        if self.is_running:
            os.killpg(self.pid, signal.SIGKILL)
            self.wait()
        if self._process is not None:
            self._process.wait()
        os.close(self._ended)
        self._ended = -1


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
