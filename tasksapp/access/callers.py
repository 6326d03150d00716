"""Callers of the API, known by their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from django.db.models import Q
from django.utils import timezone

from delayhub.clock import Clock, SystemClock
from tasksapp.access.keys import find_key
from tasksapp.access.permissions import SCOPES
from tasksapp.models import ApiKey
from tasksapp.models.api_key import USUAL_SCOPES
from tasksapp.models.conflicts import repeated
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.sql.find_api_key import StoredKey

#: ``last_used_at`` is written at most this often, by each process.
USED_EVERY = timedelta(minutes=1)
#: Keys whose last use a process remembers; when there are more, it forgets them all.
MOST_KNOWN = 10_000
#: What else callers are asked for, and what is said of a user that is none of Django's.
_OF_NOBODY: Mapping[str, Any] = {
    "pk": None,
    "is_authenticated": False,
    "is_anonymous": True,
    "is_active": False,
    "is_staff": False,
    "is_superuser": False,
}


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a valid key, and what it may do.

    An authentication class of a project's own may give back such callers too.

    Args:
        name: the key's name.
        key_id: the id of its row; None (or 0) for a caller without one, known by a class of the project's own.
        tenant_id: the tenant whose jobs and biz types it may see.
        scopes: what it may do; see :class:`tasksapp.models.api_key.Scope`.
        biz_type_ids: the biz types that it may see; None for all of the tenant.
        version: grows with each change of what the key may do.
        moved_to: where its tenant is, if not here; see :attr:`tasksapp.models.ApiKey.moved_to`.

    To throttles and permissions of REST framework it is an authenticated user, who is no staff and has no permissions
    of Django's.
    """

    name: str
    key_id: int | None
    tenant_id: int = DEFAULT_TENANT
    scopes: frozenset[str] = frozenset(USUAL_SCOPES)
    biz_type_ids: frozenset[int] | None = None
    version: int = 1
    moved_to: str = ""

    is_authenticated: ClassVar = True
    is_active: ClassVar = True
    is_anonymous: ClassVar = False
    is_staff: ClassVar = False
    is_superuser: ClassVar = False

    @property
    def pk(self) -> str:
        """What throttles count by. No user of the project has it."""
        return f"delayhub-key-{self.key_id}" if self.key_id else f"delayhub-caller-{self.name}"

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """False: what a caller may do is for permissions that know callers."""
        del perm, obj
        return False

    def has_perms(self, perm_list: Iterable[str], obj: Any = None) -> bool:
        """False, unless nothing is asked for."""
        del obj
        return not list(perm_list)


def nowhere() -> None:
    """The address of a use that comes from none."""


def find_caller(key: str, *, used_from: Callable[[], str | None] = nowhere) -> Caller | None:
    """The caller that holds that key; None where the key is unknown, disabled or expired.

    Each call asks the database, so a key that was disabled, deleted or changed is known as such by the next request.

    Args:
        key: the key as it was sent.
        used_from: gives the address that it came from; called once a minute, when the last use is written.
    """
    row = find_key(key)
    if row is None:
        return None
    last_uses.note(row.id, used_from)
    return _caller(row)


@lru_cache(maxsize=1_000)
def _caller(row: StoredKey) -> Caller:
    """The caller of a row; each request reads the row, so this is never out of date."""
    scopes, ids = frozenset(json.loads(row.scopes)), frozenset(json.loads(row.biz_type_ids))
    return Caller(row.name, row.id, row.tenant_id, scopes, ids or None, row.version, row.moved_to)


class LastUses:
    """When this process last wrote a key's ``last_used_at`` and ``last_used_from``."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._until: dict[int, float] = {}

    def note(self, key_id: int, used_from: Callable[[], str | None] = nowhere) -> None:
        """Writes that the key was used, unless that was written a short while ago, by this process or another."""
        now = self._clock.monotonic()
        if self._until.get(key_id, 0.0) > now:
            return
        written = timezone.now()
        unwritten = Q(last_used_at=None) | Q(last_used_at__lt=written - USED_EVERY)
        unused = ApiKey.objects.filter(unwritten, id=key_id)
        repeated(unused.update)(last_used_at=written, last_used_from=used_from())
        # Each of these is one atomic operation on the dict, so threads need no lock.
        if len(self._until) >= MOST_KNOWN:
            self._until.clear()
        self._until[key_id] = now + USED_EVERY.total_seconds()

    def forget(self) -> None:
        """Forgets all uses, so that the next one of each key is written."""
        self._until.clear()


last_uses = LastUses()


class SessionCaller:
    """A user of Django, in the place of the holder of a key.

    It belongs to the default tenant and may see all of its biz types, whatever attributes the user has: a project's own
    ``tenant_id`` may be of a table of its own. To throttles and permissions of REST framework it is the user.

    Args:
        user: the user, as an authentication class gave it.
    """

    key_id = None
    tenant_id = DEFAULT_TENANT
    biz_type_ids = None
    version = 1

    def __init__(self, user: Any) -> None:
        self.user = user

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The user's name."""
        return self.get_username()

    @cached_property
    def scopes(self) -> frozenset[str]:
        """The scopes for which the user has all permissions; none where the user is not one of Django's."""
        return frozenset(scope for scope, permissions in SCOPES.items() if self.has_perms(permissions))

    def __getattr__(self, name: str) -> Any:
        """What else a user has, to throttles and permissions."""
        if name not in _OF_NOBODY:
            raise AttributeError(name)
        return getattr(self.user, name, _OF_NOBODY[name])

    def get_username(self) -> str:
        """The user's name."""
        named = getattr(self.user, "get_username", None)
        return str(named() if named else self.user)

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Whether the user has that permission."""
        ask = getattr(self.user, "has_perm", None)
        return bool(ask and ask(perm, obj))

    def has_perms(self, perm_list: Iterable[str], obj: Any = None) -> bool:
        """Whether the user has all of these."""
        return all(self.has_perm(perm, obj) for perm in perm_list)
