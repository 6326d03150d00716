"""Biz types as the hot paths see them: read once, and again after a second or a change."""

from __future__ import annotations

import threading
from typing import Any

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from delayhub.engine import Clock, SystemClock
from tasksapp.models import BizType

#: How long another process may go on with what a biz type was before it was edited.
FRESH_SECONDS = 1.0


class Catalogue:
    """Biz types by code, of one database each."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[BizType, float]] = {}

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
                self._known.update({(using, code): (row, now + FRESH_SECONDS) for code, row in read.items()})
            found |= read
        return found

    def forget(self) -> None:
        """Reads everything again."""
        with self._lock:
            self._known.clear()


catalogue = Catalogue()


@receiver([post_save, post_delete], sender=BizType, dispatch_uid="tasksapp.catalogue")
def _forget(**_: Any) -> None:
    catalogue.forget()
