"""Starter: who plans and starts operations, whether that person or key still may, and whose jobs they are for."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.permissions import may
from tasksapp.biz_types.visible import Reach
from tasksapp.models import ApiKey, BizType, Operation
from tasksapp.models.api_key import Scope


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


def record_deed(operation: Operation, deed: str, *, by: Actor, using: str, **details: Any) -> None:
    """Writes one entry, in the transaction that the caller has open; none for the project's own code.

    Args:
        operation: the operation.
        deed: a deed of the audit, or ``operation.done``, ``operation.stopped`` or ``operation.failed``.
        by: who did it.
        using: the database.
        details: reason, before and after; see :func:`tasksapp.access.audit.entry`.
    """
    what = f"operation {operation.pk}: {operation.verb}"
    about = {"biz_type_id": operation.biz_type_id, "operation_id": operation.pk}
    audit.record_deed(deed, by=by, using=using, what=what, **about, **details)


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
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return f"the API key {name} has expired"
    if Scope.JOBS_ACT not in key.scopes:
        return f"the API key {name} may not act on jobs any more"
    if lost_biz_types(operation, key):
        return f"the API key {name} may not act on all of these biz types any more"
    return ""


def visible_operations(caller: object, *, rows: QuerySet[Operation]) -> QuerySet[Operation]:
    """Those of the operations that the caller sees: for jobs of its tenant, and of its biz types only."""
    reach = Reach.of(caller)
    seen = rows.filter(tenant_id=reach.tenant_id)
    if reach.biz_type_ids is None:
        return seen
    # Those of the same key; and of others those for one biz type, which is one of its own.
    return seen.filter(Q(biz_type_id__in=reach.biz_type_ids) | Q(biz_type_ids=sorted(reach.biz_type_ids)))


def may_see_operation(caller: object, operation: Operation) -> bool:
    """Whether the caller sees the operation. Asks no database."""
    reach = Reach.of(caller)
    if operation.tenant_id != reach.tenant_id:
        return False
    own = reach.biz_type_ids
    return own is None or operation.biz_type_id in own or operation.biz_type_ids == sorted(own)


def biz_types_of(operation: Operation, *, using: str) -> QuerySet[BizType]:
    """The biz types whose jobs the operation may change."""
    rows = BizType.objects.using(using)
    if operation.tenant_id is None:
        return rows
    return rows.filter(Reach(operation.tenant_id, frozenset(operation.biz_type_ids) or None).condition())


def lost_biz_types(operation: Operation, key: ApiKey) -> bool:
    """Whether the key may no longer act on all jobs of the operation that it started."""
    if key.tenant_id != operation.tenant_id:
        return True
    if not key.biz_type_ids or operation.biz_type_id in key.biz_type_ids:
        return False
    return not set(operation.biz_type_ids) or not set(operation.biz_type_ids) <= set(key.biz_type_ids)
