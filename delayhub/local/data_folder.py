"""The folder in which a site keeps everything: database, Redis files, logs, secrets."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from delayhub.errors import DataFolderInUse, DataFolderUnfit


class DataFolder:
    """A folder that one site has to itself for as long as any of its processes lives.

    Args:
        path: where; made when it is not there.

    Raises (on ``with``):
        DataFolderInUse: another site has it.
        DataFolderUnfit: it cannot be made or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise DataFolderUnfit(self.path, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise DataFolderInUse(self.path) from None
        self._lock = lock
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def lock_descriptor(self) -> int:
        """The open lock, for processes to inherit: the folder stays locked until the last of them is gone."""
        assert self._lock is not None
        return self._lock.fileno()

    @property
    def logs(self) -> Path:
        """Where each process has its log."""
        return self.path / "logs"

    @property
    def redis(self) -> Path:
        """Where Redis keeps its append-only file."""
        return self.path / "redis"

    @property
    def received(self) -> Path:
        """What the receiver was sent: one JSON line per callback."""
        return self.path / "received.jsonl"

    def kept(self, name: str, make: Callable[[], str]) -> str:
        """The secret in the file of that name, made when there is none yet, readable by its owner alone."""
        path = self.path / name
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(make())
        return path.read_text().strip()
