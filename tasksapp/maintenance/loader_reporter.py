"""LoaderReporter: leaves in the database in which Redis its loader keeps the timers, and that it is at work."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.db.models.functions import Now

from delayhub.clock import Clock
from tasksapp.models import LoaderReport
from tasksapp.timers.broker import timer_address

#: A loader reports this often; one that has not for a few times as long is gone.
REPORT_SECONDS = 2.0
#: Reports of loaders that are gone are kept for so long.
KEPT = timedelta(days=1)


class LoaderReporter:
    """Reports for one loader.

    Args:
        using: the database.
        clock: tells when the next report is due.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._next_at = 0.0
        self._epoch: str | None = None

    def run_once(self, *, epoch: str | None) -> bool:
        """Whether there was a report: not where the last one is fresh. Raises what the database raises.

        Args:
            epoch: that of the timers; None where it is not known.
        """
        now = self._clock.monotonic()
        if epoch is None or (epoch == self._epoch and now < self._next_at):
            return False
        reports = LoaderReport.objects.using(self._using)
        if epoch != self._epoch:
            reports.filter(seen_at__lt=Now() - KEPT).delete()
        report = LoaderReport(
            epoch=epoch, redis=timer_address(), worker=f"{socket.gethostname()}:{os.getpid()}"[:200], seen_at=Now()
        )
        reports.bulk_create(
            [report], update_conflicts=True, unique_fields=["epoch"], update_fields=["redis", "worker", "seen_at"]
        )
        self._epoch, self._next_at = epoch, now + REPORT_SECONDS
        return True
