"""The processes of runs: Celery workers that may die at any moment, lines that outlive a kill, an end for all."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import psutil

from tests.repository import ROOT

QUIET = ("--without-gossip", "--without-mingle")


def append_line(path: Path, *words: object) -> None:
    """Appends a line to a file, which it makes where there is none, by one system call: no kill loses a part of it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, (" ".join(map(str, words)) + "\n").encode())
    finally:
        os.close(file)


def words_of(path: Path) -> list[list[str]]:
    """The words of each line of such a file; none where nothing was written."""
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def start(
    command: Sequence[str], *, log: Path, cwd: Path = ROOT, python: str = sys.executable, **environment: str
) -> subprocess.Popen[bytes]:
    """A process of Python without Django's settings, in a group of its own; what it says is appended to the log."""
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    with log.open("ab") as output:
        return subprocess.Popen(
            [python, *command], cwd=cwd, env={**kept, **environment}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """kill -9 to a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def is_soon(fact: Callable[[], Any], *, within_seconds: float, look_seconds: float = 0.5) -> bool:
    """Waits until something is true, or it takes too long; which it was."""
    deadline = time.monotonic() + within_seconds
    while not (found := bool(fact())) and time.monotonic() < deadline:
        time.sleep(look_seconds)
    return found


class Fleet:
    """Celery workers of one app; each start has a name of its own.

    Args:
        folder: for their logs, ``worker0.log`` and so on.
        app: the module of the app.
        crew: what each worker is asked for, as ``celery worker`` has it: its pool, its size.
        cwd: where they are started.
        environment: what they are told.
    """

    def __init__(self, folder: Path, app: str, crew: Sequence[str], *, cwd: Path = ROOT, **environment: str) -> None:
        self.folder, self.app, self.crew, self.cwd, self.environment = folder, app, crew, cwd, environment
        self.names = [""] * len(crew)
        #: The name of each worker that was killed, and when it was gone.
        self.kills: list[tuple[str, float]] = []
        self.alive = [self._start(number, asked) for number, asked in enumerate(crew)]

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.alive:
            kill_group(process)

    def kill(self, number: int, *, then: str = "") -> None:
        """Kills a worker with all its processes, and starts it again, with other options where those are given."""
        kill_group(self.alive[number])
        self.kills.append((self.names[number], time.time()))  # noqa: TID251  compared with what the tasks wrote
        self.alive[number] = self._start(number, then or self.crew[number])

    def end(self) -> None:
        """Stops all of them, warm."""
        for process in self.alive:
            process.terminate()
        for process in self.alive:
            process.wait(60)

    def tend(self) -> int:
        """Puts others in the place of those that ended by themselves; how many those were."""
        ended = [number for number, process in enumerate(self.alive) if process.poll() is not None]
        for number in ended:
            self.alive[number] = self._start(number, self.crew[number])
        return len(ended)

    def under_kills(
        self, seconds: float, *, every: float, per_second: float, chance: random.Random
    ) -> Iterator[tuple[int, float]]:
        """The number and the Unix time of each turn, so many a second; a worker is killed now and then, unless 0."""
        begin = time.time()  # noqa: TID251  compared with what the tasks wrote
        next_kill, number = begin + every, 0
        while (now := time.time()) < begin + seconds:  # noqa: TID251  as above
            yield number, now
            number += 1
            if every and now >= next_kill:
                self.kill(chance.randrange(len(self.alive)))
                next_kill += every
            time.sleep(max(0.0, begin + number / per_second - time.time()))  # noqa: TID251  as above

    def _start(self, number: int, asked: str) -> subprocess.Popen[bytes]:
        name = self.names[number] = f"w{number}x{uuid4().hex[:6]}@here"
        command = ["-m", "celery", "-A", self.app, "worker", *asked.split(), "-n", name, *QUIET]
        log = self.folder / f"worker{number}.log"
        append_line(log, "==", name)
        return start(command, log=log, cwd=self.cwd, **self.environment)


@contextlib.contextmanager
def told(**environment: str) -> Iterator[Mapping[str, str]]:
    """What a shop is told, for this process too, until the end of the block."""
    before = dict(os.environ)
    os.environ.update(environment)
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)  # a shop is a Celery app without Django
    try:
        yield environment
    finally:
        os.environ.clear()
        os.environ.update(before)


# ---------------------------------------------------------------- the end of a run

#: How long a process may take to end after SIGTERM.
PATIENCE_SECONDS = 10.0


def run_main(main: Callable[[], int | None]) -> int:
    """Runs a benchmark, ends what it left running, and gives back its exit code.

    SIGTERM becomes SystemExit, as Ctrl-C becomes KeyboardInterrupt: what the benchmark opened by ``with`` is closed.
    """
    signal.signal(signal.SIGTERM, _leave)
    try:
        return main() or 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_children()


def end_children() -> None:
    """Ends all processes below this one; those that do not hear SIGTERM are killed."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        try:
            child.terminate()
            child.resume()  # one that was stopped hears nothing
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_SECONDS)
    for child in alive:
        child.kill()


def _leave(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
