"""Biz types as the hot paths see them: read once, and again after a second or a change."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from delayhub.engine import Clock, SystemClock
from tasksapp.models import BizType

#: How long another process may go on with what a biz type was before it was edited.
FRESH_SECONDS = 1.0
#: No transaction that creates a biz type is open for longer.
SETTLED = timedelta(minutes=10)


class Catalogue:
    """Biz types by code, of one database each."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[BizType, float]] = {}
        self._versions: dict[tuple[str, int], BizType] = {}

    def find(self, codes: set[str], *, using: str) -> dict[str, BizType]:
        """Those of the codes that exist."""
        now = self._clock.monotonic()
        with self._lock:
            fresh = {code: self._known[using, code] for code in codes if (using, code) in self._known}
        found = {code: biz_type for code, (biz_type, until) in fresh.items() if until > now}
        missing = codes - found.keys()
        if missing:
            read = {row.code: row for row in BizType.objects.using(using).filter(code__in=missing)}
            with self._lock:
                self._known.update(
                    {(using, code): (row, now + FRESH_SECONDS) for code, row in read.items() if _lasts(row, using)}
                )
            found |= read
        return found

    def exact(self, biz_type_id: int, updated_at: datetime, *, using: str) -> BizType:
        """The biz type as it was at its last change, or as it is by now; DoesNotExist where it was deleted."""
        with self._lock:
            row = self._versions.get((using, biz_type_id))
        if row is None or row.updated_at < updated_at:
            row = BizType.objects.using(using).get(id=biz_type_id)
            with self._lock:
                self._versions[using, biz_type_id] = row
        return row

    def start_anew(self) -> None:
        """Forgets everything, and the lock too."""
        self._lock = threading.Lock()
        self._known, self._versions = {}, {}

    def forget(self) -> None:
        """Reads everything again."""
        with self._lock:
            self._known.clear()
            self._versions.clear()


def _lasts(row: BizType, using: str) -> bool:
    """Whether the row will still be there tomorrow: one that is new may belong to a transaction that is rolled back."""
    return not connections[using].in_atomic_block or row.created_at < timezone.now() - SETTLED


catalogue = Catalogue()
# A thread of the parent may hold the lock when a child is forked.
os.register_at_fork(after_in_child=catalogue.start_anew)


@receiver([post_save, post_delete], sender=BizType, dispatch_uid="tasksapp.biz_types.cache")
def _forget(**_: Any) -> None:
    catalogue.forget()
