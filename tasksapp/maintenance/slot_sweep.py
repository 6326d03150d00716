"""SlotSweep: frees slots of jobs in flight that were leaked: their worker died before it could free them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from delayhub.clock import Clock, moment
from delayhub.engine import TimerLane
from tasksapp.biz_types.holds import open_breakers
from tasksapp.models import BizType, Job, Status
from tasksapp.timers.lanes import patient_lane

logger = logging.getLogger(__name__)

#: How long the loader waits between two sweeps.
SWEEP_SECONDS = 5.0
#: A slot is looked at when it was taken longer ago than a timer's lease and this: its claim has then reached the row.
MARGIN_SECONDS = 10.0
#: Slots of one queue that one sweep looks at; the next one goes on behind those that stay.
PAGE_SLOTS = 500


class SlotSweep:
    """Frees slots whose jobs have ended, are gone, or wait without a worker that has them.

    A slot stays where the row runs, where the message of its Celery task is under way, or where a consumer holds the
    timer. What is claimed again meanwhile has a later slot, which is not freed.

    Args:
        using: the database.
        clock: Redis' time, by which slots and leases are judged.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._next_ms = 0
        #: By lane and queue: how many of the oldest slots were looked at and stay.
        self._seen: dict[tuple[str, str], int] = {}

    def run_once(self, biz_types: Sequence[BizType]) -> int:
        """How many slots were freed. Raises what the database or Redis raise, and then frees no slot it is unsure of.

        Args:
            biz_types: every biz type.
        """
        now_ms, freed = self._clock.now_ms(), 0
        if now_ms < self._next_ms:
            return 0
        self._next_ms = now_ms + int(SWEEP_SECONDS * 1000)
        # An open breaker lets one job at a time through, whatever its biz type's limits are.
        opened = open_breakers(biz_types) or {}
        for biz_type in biz_types:
            if biz_type.has_slots or biz_type.queue in opened:
                freed += self._sweep(patient_lane(biz_type.timer_lane), biz_type.queue, now_ms=now_ms)
        return freed

    def _sweep(self, lane: TimerLane, queue: str, *, now_ms: int) -> int:
        place = lane.name, queue
        skipped = self._seen.pop(place, 0)
        taken_until_ms = now_ms - lane.options.lease_ms - int(MARGIN_SECONDS * 1000)
        old = lane.old_slots(queue, taken_until_ms=taken_until_ms, skip=skipped, limit=PAGE_SLOTS)
        if not old:
            return 0
        # Timers first: a row that is claimed after this look was claimed by a timer that took a later slot.
        timers = lane.look(queue, old)
        rows = self._rows(old)
        now = moment(now_ms)
        leaked = [
            name
            for name, at in zip(old, timers, strict=True)
            if at != 0 and not _is_held(rows.get(UUID(name)), now=now)
        ]
        if len(old) == PAGE_SLOTS:
            self._seen[place] = skipped + len(old) - len(leaked)
        if not leaked:
            return 0
        freed = lane.settle(queue, leaked, claimed_until_ms=taken_until_ms)
        if freed:
            lane.client.hincrby(lane.keys.healed, "slots", freed)
            logger.warning("freed %d slots of %s that no job held any more", freed, queue, extra={"action": "sweep"})
        return freed

    def _rows(self, names: Sequence[str]) -> dict[UUID, tuple[str, datetime | None]]:
        """By job: its status and the end of its lease."""
        rows = Job.objects.using(self._using).filter(id__in=[UUID(name) for name in names])
        return {job_id: (status, until) for job_id, status, until in rows.values_list("id", "status", "lease_until")}


def _is_held(row: tuple[str, datetime | None] | None, *, now: datetime) -> bool:
    """Whether the job runs, or waits while the message of its Celery task is under way."""
    if row is None:
        return False
    status, lease_until = row
    return status == Status.RUNNING or (status == Status.PENDING and lease_until is not None and lease_until > now)
