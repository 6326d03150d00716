"""Scheduler: ``beat_schedule`` and ``add_periodic_task``, for any number of beats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler
from celery.beat import Scheduler as CeleryScheduler
from celery.utils.log import get_logger

from delayhub.beat.shared_ticks import SharedTicks

logger = get_logger(__name__)


class Scheduler(SharedTicks, CeleryScheduler):
    """A scheduler that keeps its state in the broker, beside the queues that it publishes to."""

    def __init__(self, app: Any, *args: Any, schedule_filename: str | None = None, **options: Any) -> None:
        self.schedule_filename = schedule_filename
        super().__init__(app, *args, **options)

    def setup_schedule(self) -> None:
        """Reads the app's schedule."""
        self.merge_inplace(self.app.conf.beat_schedule)
        self.install_default_entries(self.schedule)
        if left := schedule_file(self.schedule_filename):
            logger.info("beat: %s is ignored: the schedule's state is in the broker", left, extra={"action": "beat"})

    @property
    def info(self) -> str:
        """A line of beat's banner."""
        return "    . state -> in the broker, shared by all beats"


def schedule_file(name: str | None) -> str | None:
    """The file of Celery's own scheduler, where there is one."""
    suffixes = PersistentScheduler.known_suffixes
    return next((name + suffix for suffix in suffixes if Path(name + suffix).is_file()), None) if name else None
