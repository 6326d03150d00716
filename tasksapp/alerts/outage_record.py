"""OutageRecord: what is known of an outage of the database, kept where there is no database.

It is in the timers' Redis, which all processes share, and in a file of the machine, for when Redis is away as well. So
all processes tell of an outage once together; with Redis away too, once on each machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import redis
from django.db import connections

from delayhub.clock import SystemClock
from delayhub.engine.keys import outage, outage_lock
from tasksapp.conf import options
from tasksapp.errors import AWAY
from tasksapp.timers.broker import timer_prefix
from tasksapp.timers.lanes import watched_lane

#: Nothing of an outage is needed for longer.
KEPT_SECONDS = 30 * 86_400
#: A process that tells is done within this time, or is dead.
LOCK_SECONDS = 90


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """An outage of the database; times are Unix seconds, 0 for never.

    Args:
        began_at: when a process first saw it.
        told_at: when its owner was told.
        reminded_at: when its owner was last reminded.
        ended_at: when it was over.
        returns: how often it came back soon.
        failed_sends: how often it could not be told.
        next_at: when that is tried again.
        last_error: why.
    """

    began_at: float
    told_at: float = 0.0
    reminded_at: float = 0.0
    ended_at: float = 0.0
    returns: int = 0
    failed_sends: int = 0
    next_at: float = 0.0
    last_error: str = ""


class OutageRecord:
    """The record of one database.

    Args:
        using: the database.
        folder: where its file is; None for the machine's folder for temporary files.
    """

    def __init__(self, *, using: str, folder: Path | None = None) -> None:
        place = connections[using].settings_dict
        named = "|".join(str(place.get(part, "")) for part in ("ENGINE", "HOST", "PORT", "NAME"))
        digest = hashlib.sha256(named.encode()).hexdigest()[:16]
        folder = folder or Path(tempfile.gettempdir())
        self._path = folder / f"delayhub-outage-{os.getuid()}-{digest}.json"

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """While it is open, no other process changes the record; False where one does at this moment."""
        with ExitStack() as undo:
            yield self._lock_redis(undo) and self._lock_file(undo)

    def read(self) -> Outage | None:
        """The record; what was told comes before what was not, and what is newer before what is older."""
        found = [each for each in (self._read_redis(), self._read_file()) if each is not None]
        return max(found, key=lambda each: (each.began_at, each.told_at, each.ended_at), default=None)

    def write(self, record: Outage) -> None:
        """Keeps the record in each place that can be written."""
        text = json.dumps(asdict(record))
        with suppress(*AWAY):
            _client().set(outage(timer_prefix()), text, ex=KEPT_SECONDS)
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            with os.fdopen(os.open(self._path, flags, 0o600), "w") as file:
                file.write(text)

    def _lock_redis(self, undo: ExitStack) -> bool:
        """Whether Redis does not say otherwise."""
        token, name = uuid4().hex, outage_lock(timer_prefix())
        try:
            if not _client().set(name, token, nx=True, ex=LOCK_SECONDS):
                return False
        except AWAY:
            return True
        undo.callback(_unlock, name, token)
        return True

    def _lock_file(self, undo: ExitStack) -> bool:
        try:
            descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            return True
        undo.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _read_redis(self) -> Outage | None:
        try:
            return _parsed(_client().get(outage(timer_prefix())))
        except AWAY:
            return None

    def _read_file(self) -> Outage | None:
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)) as file:
                status = os.fstat(file.fileno())
                if status.st_uid != os.getuid():
                    return None  # somebody else's, in a folder that all may write to
                if status.st_mtime < SystemClock().now_ms() / 1000 - KEPT_SECONDS:
                    return None  # as in Redis: another machine may have told its end
                return _parsed(file.read())
        except (OSError, ValueError):
            return None


def _client() -> redis.Redis:
    return watched_lane(options().lanes[0]).client


def _unlock(name: str, token: str) -> None:
    with suppress(*AWAY):
        client = _client()
        if client.get(name) == token.encode():
            client.delete(name)


def _parsed(text: object) -> Outage | None:
    if not isinstance(text, (str, bytes)):
        return None
    try:
        return Outage(**json.loads(text))
    except (ValueError, TypeError):
        return None
