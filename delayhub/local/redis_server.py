"""A private Redis server; ``server_program`` says which program that is."""

from __future__ import annotations

import fcntl
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from delayhub.clock import SystemClock
from delayhub.errors import DataFolderInUse, RedisServerDied
from delayhub.local.data_folder import PRIVATE_UMASK
from delayhub.local.parent_death import ending_with_parent
from delayhub.local.server_program import find_redis_server

#: What ``redis.conf`` has after an option's name.
Value = str | int | Sequence[str]

START_SECONDS = 30.0  # an append-only file of a few hundred MB is read in this time
STOP_SECONDS = 10.0
LOG_TAIL_LINES = 20
PORT_TRIES = 5


class RedisServer:
    """A Redis or Valkey server on 127.0.0.1 that runs as long as the ``with`` block does.

    It has a process group of its own, so that a Ctrl-C in the terminal reaches its clients first. Its data folder is
    locked as long as the server runs, even when the process that started it is gone.

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
        self.program = Path(program) if program else find_redis_server()
        self.append_only = append_only
        self.ends_with_parent = ends_with_parent
        self.config = dict(config or {})
        self.port = port or 0
        self._port_is_given = bool(port)
        self._data_dir = Path(data_dir) if data_dir else None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._clock = SystemClock()

    # ------------------------------------------------------------ verbs

    def start(self) -> Self:
        """This server, ready for commands; on the port and data of its last run if it ran before.

        Raises:
            RedisServerDied: it ended at once, or was not ready within 30 seconds; the message has the end of its log.
            DataFolderInUse: another server uses the data folder.
        """
        if self.running:
            return self
        folder = self.data_dir
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._launch_on_a_port(folder)
        except BaseException:
            self.stop()
            raise
        self._port_is_given = True
        return self

    def stop(self) -> None:
        """Ends the server by SIGTERM and removes its temporary folder."""
        self._end(signal.SIGTERM)
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def kill(self) -> None:
        """Ends the server by SIGKILL, as a power cut would; the data folder stays for :meth:`start`."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """This server, ended by SIGTERM if it runs, then started as :meth:`start` does."""
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
    def running(self) -> bool:
        """Whether the server's process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The server's process id; None unless it runs."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def url(self) -> str:
        """Its URL for redis-py, database 0."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **options: Any) -> redis.Redis:
        """A new client of this server that does not decode replies; ``options`` are redis-py's."""
        return redis.Redis.from_url(self.url, **options)

    def check(self) -> None:
        """Raises RedisServerDied if the server ended by itself; the message has the end of its log."""
        if self._process is not None and not self.running:
            raise RedisServerDied(self._process.returncode, self.log_tail())

    def log_tail(self) -> str:
        """The last lines of the server's log."""
        if self._data_dir is None and self._temporary is None:
            return ""
        log = self.data_dir / "redis.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]) if log.exists() else ""

    # ------------------------------------------------------------ private

    def _launch_on_a_port(self, folder: Path) -> None:
        for tries_left in reversed(range(PORT_TRIES)):
            self.port = self.port or free_port()
            try:
                self._launch(folder)
                break
            except RedisServerDied as died:
                # Another process took the free port after free_port() had found it and before the server bound it.
                if self._port_is_given or not tries_left or "Address already in use" not in died.log:
                    raise
                self.port = 0

    def _launch(self, folder: Path) -> None:
        arguments = [str(self.program)]
        for name, value in self._configuration(folder).items():
            arguments += [f"--{name}", *arguments_of(value)]
        log = folder / "redis.log"
        with (folder / "redis.lock").open("a") as lock, log.open("wb") as output:
            try:
                # The lock belongs to the open file. The server inherits that, so the lock lasts as long as the server.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataFolderInUse(folder) from None
            self._process = subprocess.Popen(
                ending_with_parent(arguments) if self.ends_with_parent else arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[lock.fileno()],
                process_group=0,
                umask=PRIVATE_UMASK,
            )
        self._wait_until_ready()

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

    def _wait_until_ready(self) -> None:
        deadline = self._clock.monotonic() + START_SECONDS
        process = self._process
        assert process is not None
        with self.client(socket_timeout=1) as client:
            while True:
                self.check()
                try:
                    if client.info("server")["process_id"] == process.pid:
                        return
                    # Another server answers on our port: ours cannot bind it, logs that and ends.
                except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
                    pass
                if self._clock.monotonic() > deadline:
                    raise RedisServerDied(None, self.log_tail())
                try:
                    process.wait(0.02)
                except subprocess.TimeoutExpired:
                    continue

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.poll() is None:
                process.send_signal(how)
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        except KeyboardInterrupt:
            # A second Ctrl-C asks for an end at once, and the server must not be left running.
            process.kill()
            process.wait()
            raise


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
