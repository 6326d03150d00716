"""Callers of the API, known by their keys."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone

from delayhub.clock import Clock, SystemClock
from tasksapp.access.keys import find_key
from tasksapp.models import ApiKey

#: For so many seconds a key is known without a look at the database; a disabled key goes on to work as long.
KNOWN_SECONDS = 30.0
#: Keys that one process remembers; when there are more, it forgets them all.
MOST_KNOWN = 10_000
#: ``last_used_at`` is written at most this often.
USED_EVERY = timedelta(minutes=1)


class Caller(NamedTuple):
    """The holder of a valid key. To REST framework it is an authenticated user."""

    name: str

    @property
    def is_authenticated(self) -> bool:
        return True


class CallerCache:
    """Callers by key, read from the database again after ``KNOWN_SECONDS``."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[str, tuple[Caller, float]] = {}

    def find(self, key: str) -> Caller | None:
        """The caller that holds that key; None where the key is unknown or disabled."""
        caller, until = self._known.get(key, (None, 0.0))
        if caller is not None and until > self._clock.monotonic():
            return caller
        return self._read(key)

    def clear(self) -> None:
        """Empties the cache, so that every key is looked up in the database again."""
        self._known.clear()

    def _read(self, key: str) -> Caller | None:
        row = find_key(key)
        if row is None:
            return None
        now = timezone.now()
        if row.last_used_at is None or now - row.last_used_at > USED_EVERY:
            ApiKey.objects.filter(id=row.id).update(last_used_at=now)
        caller = Caller(row.name)
        # Each of these is one atomic operation on the dict, so threads need no lock.
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = (caller, self._clock.monotonic() + KNOWN_SECONDS)
        return caller


caller_cache = CallerCache()
