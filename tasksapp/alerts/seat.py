"""Seat: elects the one process that watches, by a row of the database."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from uuid import uuid4

from django.db.models import Q
from django.db.models.functions import Now

from tasksapp.models import AlertWatch

#: A holder that does not come for so long has lost the seat.
LEASE = timedelta(seconds=9)
#: Workers leave a free seat to web processes for so long: workers are what is watched most.
PATIENCE = timedelta(seconds=6)
_ROW = 1


class Seat:
    """One process's claim to watch.

    Args:
        using: the database.
        is_worker: whether the process is a worker; then a web process may take the seat from it.
    """

    def __init__(self, *, using: str, is_worker: bool) -> None:
        self._using = using
        self._is_worker = is_worker
        self._holder = f"{socket.gethostname()[:20]}:{os.getpid()}:{uuid4().hex[:12]}"

    def take(self) -> bool:
        """Takes the seat or keeps it; False where another process has it. Raises what the database raises."""
        rows = AlertWatch.objects.using(self._using).filter(pk=_ROW)
        free = Q(until__lt=Now() - PATIENCE) if self._is_worker else Q(until__lt=Now()) | Q(is_worker=True)
        wanted = {"holder": self._holder, "is_worker": self._is_worker, "until": Now() + LEASE}
        if rows.filter(Q(holder=self._holder) | free).update(**wanted):
            return True
        if rows.exists():
            return False
        row = AlertWatch(pk=_ROW, **wanted)
        AlertWatch.objects.using(self._using).bulk_create([row], ignore_conflicts=True)
        return rows.filter(holder=self._holder).exists()

    def leave(self) -> None:
        """Frees the seat for another process. Raises what the database raises."""
        AlertWatch.objects.using(self._using).filter(pk=_ROW, holder=self._holder).update(until=Now() - 2 * PATIENCE)
