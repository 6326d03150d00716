"""A cache of biz types for the hot paths: each is read again after a second, and when this process edits one."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models.signals import post_delete, post_migrate, post_save
from django.dispatch import receiver
from django.utils import timezone

from delayhub.clock import Clock, SystemClock
from tasksapp.errors import UnknownTenant
from tasksapp.models import BizType, Tenant
from tasksapp.models.columns import is_code
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.sql.biz_type_revision import Revised, read_biz_types

#: For how long a process may go on with a biz type that another process has edited.
FRESH_SECONDS = 1.0
#: No transaction that creates a biz type stays open for longer.
LONGEST_TRANSACTION = timedelta(minutes=10)


class BizTypeCache:
    """Biz types by their tenant and code, and by the revision of their row, for each database."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._by_code: dict[tuple[str, int, str], tuple[BizType, float]] = {}
        self._by_id: dict[tuple[str, int], Revised] = {}
        self._tenants: dict[tuple[str, str], tuple[int, float]] = {}

    def tenant_id(self, code: str, *, using: str) -> int:
        """The id of the tenant of that code, as it was ``FRESH_SECONDS`` ago or later. Raises UnknownTenant."""
        now = self._clock.monotonic()
        known = self._tenants.get((using, code))
        if known is not None and known[1] > now:
            return known[0]
        rows = Tenant.objects.using(using).filter(code=code) if isinstance(code, str) and is_code(code) else ()
        for tenant in rows:
            if not connections[using].in_atomic_block:  # what a transaction made may be rolled back
                self._tenants[using, code] = tenant.pk, now + FRESH_SECONDS
            return int(tenant.pk)
        raise UnknownTenant(code)

    def find(self, codes: set[str], *, tenant_id: int = DEFAULT_TENANT, using: str) -> dict[str, BizType]:
        """The biz types that exist of the tenant, by code; at most ``FRESH_SECONDS`` old."""
        now = self._clock.monotonic()
        with self._lock:
            held = ((code, self._by_code.get((using, tenant_id, code))) for code in codes)
            known = {code: entry for code, entry in held if entry is not None}
        found = {code: biz_type for code, (biz_type, until) in known.items() if until > now}
        missing = codes - found.keys()
        if missing:
            rows = BizType.objects.using(using).select_related("tenant__counted")
            read = {row.code: row for row in rows.filter(tenant_id=tenant_id, code__in=missing)}
            with self._lock:
                self._by_code.update(
                    {
                        (using, tenant_id, code): (row, now + FRESH_SECONDS)
                        for code, row in read.items()
                        if _is_committed(row, using)
                    }
                )
            found |= read
        return found

    def as_of(self, biz_type_id: int, *, revision: int, using: str) -> BizType:
        """The biz type as its row was at that revision, or as it is now; one instance for each state of the row.

        Raises BizType.DoesNotExist where it was deleted.
        """
        for biz_type in self.all_as_of({biz_type_id: revision}, using=using):
            return biz_type
        raise BizType.DoesNotExist

    def all_as_of(self, revisions: Mapping[int, int | None], *, using: str) -> list[BizType]:
        """The same for several, by their ids; those that were deleted are left out. What has changed is read at once.

        Args:
            revisions: those of their rows; None where it is not known, so that the row is read.
            using: the database.
        """
        with self._lock:
            held = {key: self._by_id.get((using, key)) for key in revisions}
        known = {key: one for key, one in held.items() if one is not None and one.revision == revisions[key]}
        if missing := revisions.keys() - known.keys():
            read = read_biz_types(missing, using=using)
            with self._lock:
                self._by_id.update({(using, key): one for key, one in read.items()})
            known |= read
        return [known[key].biz_type for key in revisions if key in known]

    def clear(self) -> None:
        """Empties the cache, so that every biz type is read again."""
        with self._lock:
            self._by_code.clear()
            self._by_id.clear()
            self._tenants.clear()

    def reset_after_fork(self) -> None:
        """Empties the cache of a forked child and replaces its lock, which a thread of the parent may have held."""
        self._lock = threading.Lock()
        self._by_code, self._by_id, self._tenants = {}, {}, {}


def _is_committed(row: BizType, using: str) -> bool:
    """Whether no open transaction can have created the row: a rollback would leave it in the cache."""
    return not connections[using].in_atomic_block or row.created_at < timezone.now() - LONGEST_TRANSACTION


biz_type_cache = BizTypeCache()
os.register_at_fork(after_in_child=biz_type_cache.reset_after_fork)


@receiver([post_save, post_delete], sender=BizType, dispatch_uid="tasksapp.biz_types.cache")
@receiver([post_save, post_delete], sender=Tenant, dispatch_uid="tasksapp.biz_types.cache.tenants")
@receiver(post_migrate, dispatch_uid="tasksapp.biz_types.cache.flush")
def _clear_cache(**_: Any) -> None:
    # ``flush`` deletes all rows without another signal than post_migrate; so does a TransactionTestCase at its end.
    biz_type_cache.clear()
