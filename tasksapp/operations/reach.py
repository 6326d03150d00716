"""Whose jobs an operation is for, and which callers see it."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from tasksapp.biz_types.visible import Reach
from tasksapp.models import ApiKey, BizType, Operation


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
