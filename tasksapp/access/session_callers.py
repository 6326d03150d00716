"""Users of Django as callers of the API: what they may do there comes from their permissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from tasksapp.access.permissions import SCOPES
from tasksapp.models.tenant import DEFAULT_TENANT

#: What else callers are asked for, and what is said of a user that is none of Django's.
_OF_NOBODY: Mapping[str, Any] = {
    "pk": None,
    "is_authenticated": False,
    "is_anonymous": True,
    "is_active": False,
    "is_staff": False,
    "is_superuser": False,
}


class SessionCaller:
    """A user of Django, in the place of the holder of a key.

    It belongs to the default tenant and may see all of its biz types. To throttles and permissions of REST framework it
    is the user.

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
