"""What a caller sees: the biz types of its tenant, or of these only those that its key names, and their jobs.

A caller is the user of a request. One that says nothing of tenants, such as a user of a project with
an authentication of its own, belongs to the default tenant and sees all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db import router
from django.db.models import Q, QuerySet

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import TenantMoving, UnknownBizType
from tasksapp.models import BizType, Job
from tasksapp.models.api_key import NO_BIZ_TYPE
from tasksapp.models.columns import is_code
from tasksapp.models.tenant import DEFAULT_TENANT

_NONE = frozenset({NO_BIZ_TYPE})


class Reach(NamedTuple):
    """How far a caller sees; a caller itself where one is asked for.

    Args:
        tenant_id: its tenant.
        biz_type_ids: only these biz types of the tenant; None for all of them.
        while_moving: whether it may give jobs to biz types that are being moved, as what still runs there may; it
            takes the place of what has ended, so no quota refuses it, and carries on masks that stand in its body.
    """

    tenant_id: int = DEFAULT_TENANT
    biz_type_ids: frozenset[int] | None = None
    while_moving: bool = False

    @classmethod
    def of(cls, caller: object) -> Reach:
        """How far the caller sees."""
        if isinstance(caller, cls):
            return caller
        ids = getattr(caller, "biz_type_ids", None)
        # Stored with an operation, none at all would stand for every one.
        return cls(getattr(caller, "tenant_id", DEFAULT_TENANT), _NONE if ids is not None and not ids else ids)

    def has(self, biz_type: BizType) -> bool:
        """Whether the biz type is one of them. Asks no database."""
        return biz_type.tenant_id == self.tenant_id and (self.biz_type_ids is None or biz_type.pk in self.biz_type_ids)

    def condition(self, path: str = "") -> Q:
        """What holds for rows that are seen.

        Args:
            path: how the rows name their biz type, such as ``biz_type``; '' for biz types themselves.
        """
        begin = f"{path}__" if path else ""
        found = Q(**{f"{begin}tenant_id": self.tenant_id})
        if self.biz_type_ids is not None:
            # The column of the row itself, where it has one: no index of biz types is asked for it.
            found &= Q(**{f"{path}_id__in" if path else "id__in": self.biz_type_ids})
        return found


def labelled(label: str, *, path: str = "") -> Q:
    """What holds for the biz type of that label, or for rows of it; see ``BizType.label``.

    Args:
        label: a code of the default tenant, or ``tenant/code``.
        path: how the rows name their biz type; '' for biz types themselves.
    """
    tenant, _, code = label.rpartition("/")
    begin = f"{path}__" if path else ""
    owner = {f"{begin}tenant__code": tenant} if tenant else {f"{begin}tenant_id": DEFAULT_TENANT}
    return Q(**owner, **{f"{begin}code": code})


def refuse_moving(biz_type: BizType) -> None:
    """Raises TenantMoving where the biz type is being moved to another site, or was."""
    if biz_type.moved_to:
        raise TenantMoving(biz_type.label)


#: The project's own code, where it names no tenant.
OWN_REACH = Reach()


def reach_of(seen_by: object, *, tenant: str | None, using: str) -> Reach:
    """Which biz types codes mean: those of a caller, if there is one, or else those of the tenant of that code.

    Raises UnknownTenant.
    """
    if seen_by is not None:
        return Reach.of(seen_by)
    return OWN_REACH if tenant is None else Reach(biz_type_cache.tenant_id(tenant, using=using))


def visible_biz_types(caller: object, *, using: str | None = None) -> QuerySet[BizType]:
    """The biz types that the caller sees, by code."""
    rows = BizType.objects.using(using or router.db_for_read(BizType))
    return rows.filter(Reach.of(caller).condition()).order_by("code")


def visible_jobs(caller: object, *, using: str | None = None) -> QuerySet[Job]:
    """The jobs that the caller sees, with their biz types."""
    rows = Job.objects.using(using or router.db_for_read(Job)).select_related("biz_type")
    return rows.filter(Reach.of(caller).condition("biz_type"))


def may_see(caller: object, biz_type: BizType) -> bool:
    """Whether the caller sees the biz type and its jobs. Asks no database."""
    return Reach.of(caller).has(biz_type)


def biz_type_of(caller: object, code: Any, *, using: str | None = None) -> BizType:
    """The biz type that the caller knows by that code, at most a second old.

    Raises UnknownBizType where there is none, or the caller does not see it.
    """
    reach = Reach.of(caller)
    found = None
    if isinstance(code, str) and is_code(code):
        using = using or router.db_for_write(Job)
        found = biz_type_cache.find({code}, tenant_id=reach.tenant_id, using=using).get(code)
    if found is None or not reach.has(found):
        raise UnknownBizType(code)
    return found
