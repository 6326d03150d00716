"""Callers of the API, known by their keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import Q
from django.utils import timezone

from delayhub.clock import Clock, SystemClock
from tasksapp.access.keys import find_key
from tasksapp.models import ApiKey

#: ``last_used_at`` is written at most this often, by each process.
USED_EVERY = timedelta(minutes=1)
#: Keys whose last use a process remembers; when there are more, it forgets them all.
MOST_KNOWN = 10_000


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


def find_caller(key: str) -> Caller | None:
    """The caller that holds that key; None where the key is unknown or disabled.

    Each call asks the database, so a key that was disabled or deleted is refused by the next request.
    """
    row = find_key(key)
    if row is None:
        return None
    last_uses.note(row.id)
    return Caller(row.name, row.id)


class LastUses:
    """When this process last wrote a key's ``last_used_at``."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._until: dict[int, float] = {}

    def note(self, key_id: int) -> None:
        """Writes that the key was used, unless that was written a short while ago, by this process or another."""
        now = self._clock.monotonic()
        if self._until.get(key_id, 0.0) > now:
            return
        written = timezone.now()
        unwritten = Q(last_used_at=None) | Q(last_used_at__lt=written - USED_EVERY)
        ApiKey.objects.filter(unwritten, id=key_id).update(last_used_at=written)
        # Each of these is one atomic operation on the dict, so threads need no lock.
        if len(self._until) >= MOST_KNOWN:
            self._until.clear()
        self._until[key_id] = now + USED_EVERY.total_seconds()

    def forget(self) -> None:
        """Forgets all uses, so that the next one of each key is written."""
        self._until.clear()


last_uses = LastUses()
