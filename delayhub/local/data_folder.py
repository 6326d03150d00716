"""The folder in which a site keeps everything: database, Redis files, logs, secrets."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self

from delayhub.errors import DataFolderInUse, DataFolderUnfit

#: With this, files and folders that a process makes can be read by their owner only.
PRIVATE_UMASK = 0o077


class DataFolder:
    """A folder that one site has locked as long as any of the site's processes runs.

    Only its owner can look into it: it holds keys, passwords, bodies of jobs, and logs.

    Args:
        path: where it is; ``with`` makes it if it is missing.

    Raises (on ``with``):
        DataFolderInUse: another site has locked it.
        DataFolderUnfit: it cannot be made or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.path, self.logs):
                _make_private(folder)
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
        """The open lock file. Processes inherit it, so the folder stays locked until the last of them has ended."""
        assert self._lock is not None
        return self._lock.fileno()

    @property
    def logs(self) -> Path:
        """The folder with a log file for each process."""
        return self.path / "logs"

    @property
    def redis(self) -> Path:
        """The folder of Redis' append-only file."""
        return self.path / "redis"

    @property
    def received(self) -> Path:
        """The receiver's log: one JSON line per callback."""
        return self.path / "received.jsonl"

    def kept(self, name: str, make: Callable[[], str]) -> str:
        """The secret in the file of that name; ``make`` gives it the first time. Only the file's owner can read it."""
        path = self.path / name
        if path.exists() and not path.stat().st_size:
            path.unlink()  # left by a disk that was full
        if not path.exists():
            make_secret(path, make())
        return path.read_text().strip()


def make_secret(path: Path, secret: str) -> None:
    """Makes a secret's file, whole or not at all; only its owner can read it. One that is there stays as it is."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secret)
        # Of several processes that start at once, one links its draft, which is complete; the others read that.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def private_file(path: Path) -> BinaryIO:
    """The file, open for appending, and made if it is missing; only its owner can read it."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
    _make_private(path)
    return file


def _make_private(path: Path) -> None:
    """Takes the rights of others from what an earlier version made; who owns it has to decide where that is another."""
    found = path.stat()
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & PRIVATE_UMASK:
        path.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE_UMASK)
