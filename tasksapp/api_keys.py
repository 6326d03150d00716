"""API keys: made once, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
import threading
from datetime import timedelta

from django.utils import timezone

from delayhub.engine import Clock, SystemClock
from tasksapp.models import ApiKey

MARK = "dh_"
PREFIX_LENGTH = 11
LEAST_LENGTH = 32
#: How long a key that was disabled may go on in another process.
FRESH_SECONDS = 5.0
LAST_USED_EVERY = timedelta(minutes=1)
MOST_REMEMBERED = 10_000


def new_key() -> str:
    """A key that nobody guesses: 256 random bits."""
    return MARK + secrets.token_urlsafe(32)


def issue(name: str, *, key: str | None = None) -> str:
    """The key that callers named so may use from now on; their earlier one ends.

    Args:
        name: whose it is, unique.
        key: one made elsewhere; a new one by default.

    Raises ValueError for a key that is too short to be safe.
    """
    key = key or new_key()
    if len(key) < LEAST_LENGTH:
        raise ValueError(f"an API key has {LEAST_LENGTH} characters or more, got {len(key)}")
    row = {"prefix": key[:PREFIX_LENGTH], "hashed_key": hashed(key), "enabled": True}
    ApiKey.objects.update_or_create(name=name, defaults=row)
    known_keys.forget()
    return key


def hashed(key: str) -> str:
    """What is kept of a key. Keys are random and long, so that a plain SHA-256 is enough, and fast."""
    return hashlib.sha256(key.encode()).hexdigest()


class KnownKeys:
    """Keys that were good a moment ago, so that not every request asks the database."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._good: dict[str, tuple[ApiKey, float]] = {}

    def find(self, key: str) -> ApiKey | None:
        """The row of an enabled key; None for any other text."""
        digest, now = hashed(key), self._clock.monotonic()
        with self._lock:
            row, until = self._good.get(digest, (None, 0.0))
        if row is not None and until > now:
            return row
        row = ApiKey.objects.filter(prefix=key[:PREFIX_LENGTH], enabled=True).first()
        if row is None or not secrets.compare_digest(row.hashed_key, digest):
            return None
        self._note_use(row)
        with self._lock:
            if len(self._good) >= MOST_REMEMBERED:
                self._good.clear()
            self._good[digest] = (row, now + FRESH_SECONDS)
        return row

    def forget(self) -> None:
        """Asks the database again for every key."""
        with self._lock:
            self._good.clear()

    def _note_use(self, row: ApiKey) -> None:
        now = timezone.now()
        if row.last_used_at is None or now - row.last_used_at > LAST_USED_EVERY:
            ApiKey.objects.filter(pk=row.pk).update(last_used_at=now)


known_keys = KnownKeys()
