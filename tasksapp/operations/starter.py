"""Starter: who plans and starts operations, and whether that person or key still may."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.auth import get_user_model

from tasksapp.access.actors import Actor
from tasksapp.access.permissions import may
from tasksapp.models import ApiKey, Operation
from tasksapp.operations.reach import lost_biz_types


class Starter(NamedTuple):
    """A person, the holder of an API key, or the project's own code.

    Args:
        actor: the name for the record.
        user_id: the account of a person.
        api_key_id: the key of a caller.
    """

    actor: Actor
    user_id: Any = None
    api_key_id: int | None = None

    @property
    def kind(self) -> str:
        """``user``, ``key``, or ``code`` for the project's own code. An account that goes leaves this behind."""
        if self.user_id is not None:
            return "user"
        return "code" if self.api_key_id is None else "key"


def lost_right(operation: Operation, *, kind: str, using: str) -> str:
    """Why the one who started the operation may not go on with it; '' where nothing is wrong.

    Args:
        operation: the operation.
        kind: what kind of starter it was.
        using: the database of the operation.
    """
    name = operation.started_by
    if kind == "user":
        account = operation.user_id
        user = None if account is None else get_user_model()._default_manager.filter(pk=account).first()
        if user is None:
            return f"the account of {name} was deleted"
        if not user.is_active:
            return f"the account of {name} is not active any more"
        if not may(user, operation.verb):
            return f"{name} may not {operation.get_verb_display()} jobs any more"
    elif kind == "key":
        held = operation.api_key_id
        key = None if held is None else ApiKey.objects.using(using).filter(pk=held).first()
        return _lost_by_key(operation, key)
    return ""


def _lost_by_key(operation: Operation, key: ApiKey | None) -> str:
    name = operation.started_by
    if key is None:
        return f"the API key {name} was deleted"
    if not key.enabled:
        return f"the API key {name} is disabled"
    if lost_biz_types(operation, key):
        return f"the API key {name} may not act on all of these biz types any more"
    return ""
