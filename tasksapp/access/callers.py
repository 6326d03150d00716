"""Callers of the API, known by their keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

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


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a valid key.

    To throttles and permissions of REST framework it is an authenticated user, who is no staff and has no permissions
    of Django's.
    """

    name: str
    key_id: int

    is_authenticated: ClassVar = True
    is_active: ClassVar = True
    is_anonymous: ClassVar = False
    is_staff: ClassVar = False
    is_superuser: ClassVar = False

    @property
    def pk(self) -> str:
        """What throttles count by. No user of the project has it."""
        return f"delayhub-key-{self.key_id}"

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """False: what a caller may do is for permissions that know callers."""
        del perm, obj
        return False

    def has_perms(self, perm_list: Iterable[str], obj: Any = None) -> bool:
        """False, unless nothing is asked for."""
        del obj
        return not list(perm_list)


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
        caller = Caller(row.name, row.id)
        # Each of these is one atomic operation on the dict, so threads need no lock.
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = (caller, self._clock.monotonic() + KNOWN_SECONDS)
        return caller


caller_cache = CallerCache()
