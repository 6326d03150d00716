"""The loader: brings timers from the database into Redis, and what else keeps the two in step.

One loader works at a time, in any worker; each turn is one :meth:`Loader.run_once`. A turn writes the gates, arms the
rows that enter the near window and those that are overdue, returns lost leases and frees leaked slots. Where Redis has
lost timers, it loads the whole window again.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import Error
from django.db.models.functions import Now

from delayhub.clock import Clock, now_by
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.gates import bring_gates
from tasksapp.conf import options
from tasksapp.jobs.flow_order import with_turn
from tasksapp.maintenance.database_uptime import DatabaseUptime
from tasksapp.maintenance.lost_leases import LostLeases
from tasksapp.maintenance.slot_sweep import SlotSweep
from tasksapp.maintenance.timer_loss import TimerLoss
from tasksapp.models import BizType, LoaderReport
from tasksapp.sql import pending_rows
from tasksapp.sql.ordered_keys import first_jobs_page
from tasksapp.sql.pending_rows import PendingRow, Position, pages
from tasksapp.sql.timer_work import TimerWork, timer_work
from tasksapp.timers.arming import ensure_timers
from tasksapp.timers.lanes import client, patient_lanes, timer_address
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.timer import Timer

logger = logging.getLogger(__name__)

#: A due job that is still pending after this long is looked at: its timer is missing, or it waits for a worker.
OVERDUE = timedelta(seconds=2)
#: Pages of overdue rows in one turn, over all biz types; the next turn goes on where this one ended.
OVERDUE_PAGES = 10
#: Flow keys of an ordered biz type whose first jobs are looked at in one turn.
TURN_KEYS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one turn did.

    Args:
        held: whether this loader had the seat; without it, it did nothing.
        entered: rows that entered the window, or were loaded again.
        overdue: overdue rows whose timer was ensured.
        returned: rows of lost workers.
        reloaded: whether the whole window was loaded.
        operations: whether operations are open.
    """

    held: bool
    entered: int = 0
    overdue: int = 0
    returned: int = 0
    reloaded: bool = False
    operations: bool = False


class Loader:
    """Keeps Redis in step with one database.

    Args:
        using: the database.
        clock: Redis' time.
        holder: the name that its seat is taken with.
    """

    def __init__(self, *, using: str, clock: RedisClock | None = None, holder: str = "") -> None:
        self.using = using
        self.clock = clock or RedisClock(client)
        self._leader = Leader(holder=holder)
        self._uptime = DatabaseUptime(clock=self.clock)
        self._timer_loss = TimerLoss(using=using, clock=self.clock)
        self._reporter = LoaderReporter(using=using, clock=self.clock)
        self._lost_leases = LostLeases(using=using, clock=self.clock, uptime=self._uptime)
        self._slot_sweep = SlotSweep(using=using, clock=self.clock)
        self._held = False
        #: What the next turn goes by; None where it has to look itself.
        self._work: TimerWork | None = None
        #: The end of the window as the last turn loaded it, and the biz types that were not shut then.
        self._loaded_until: datetime | None = None
        self._open: set[int] = set()
        #: By biz type: where the walk over its overdue rows goes on; None for their beginning.
        self._walks: dict[int, Position | None] = {}
        #: By ordered biz type: the flow key after which the walk over its first jobs goes on.
        self._keys: dict[int, str] = {}

    @property
    def holds_seat(self) -> bool:
        """Whether its last turn had the seat."""
        return self._held

    def look(self) -> TimerWork | None:
        """What there is to do, where its last turn had the seat, else None; the next turn goes by it.

        Raises what the database raises.
        """
        self._work = self._look() if self._held else None
        return self._work

    def run_once(self) -> Turn:
        """One turn. Raises what Redis or the database raise; the next turn does what this one did not."""
        if not self._leader.hold():
            self._timer_loss.forget()
            self._held = False
            return Turn(held=False)
        try:
            self.clock.sync()
            if not self._held:
                self._uptime.load()
                self._held = True
            turn = self._turn()
        except Error:
            self._uptime.reset()
            raise
        self._uptime.save()
        return turn

    def resign(self) -> None:
        """Gives the seat up, so that another loader need not wait for the lease to end. Raises RedisError."""
        self._leader.resign()

    def reload(self) -> int:
        """Loads the whole window, also where another loader has the seat. Gives back how many rows that was."""
        self.clock.sync()
        biz_types = list(BizType.objects.using(self.using))
        bring_gates(biz_types, now=now_by(self.clock))
        return self._load(biz_types, after=None, until=now_by(self.clock) + options().near_window)

    def _turn(self) -> Turn:
        work, self._work = self._work or self._look(), None
        now, until = now_by(self.clock), work.until
        biz_types = biz_type_cache.all_as_of(work.revisions, using=self.using)
        self._uptime.note_answer()
        armed = [biz_type for biz_type in biz_types if biz_type.id in self._open]
        reloaded = self._timer_loss.run_once(armed, until=self._loaded_until)
        bring_gates(biz_types, now=now, may_have_paused_keys=work.paused_keys)
        self._reporter.run_once(epoch=self._timer_loss.epoch)
        if reloaded:
            logger.info("loading all timers of the next %s", options().near_window, extra={"action": "reload"})
            entered, overdue = self._load(biz_types, after=None, until=until), 0
        else:
            # One that just opened brings its whole window, whether or not anything enters it now.
            awake = [each for each in biz_types if each.id in work.entering or each.id not in self._open]
            entered = self._load(awake, after=self._loaded_until, until=until)
            overdue = self._arm_overdue([each for each in biz_types if each.id in work.overdue], now=now)
        self._open = {each.id for each in biz_types if not each.is_shut(now=now)}
        self._timer_loss.confirm()
        self._loaded_until = until
        returned = self._lost_leases.run_once() if work.lost else 0
        self._slot_sweep.run_once(biz_types)
        return Turn(
            held=True,
            entered=entered,
            overdue=overdue,
            returned=returned,
            reloaded=reloaded,
            operations=work.operations,
        )

    def _look(self) -> TimerWork:
        now = now_by(self.clock)
        return timer_work(
            now=now,
            after=self._loaded_until,
            until=now + options().near_window,
            overdue_since=now - OVERDUE,
            using=self.using,
        )

    def _load(self, biz_types: Sequence[BizType], *, after: datetime | None, until: datetime) -> int:
        """Ensures the timers of the window, but none of biz types that are shut: those need none until they open."""
        loaded, now = 0, now_by(self.clock)
        for biz_type in biz_types:
            if biz_type.is_shut(now=now):
                continue
            # One that just opened has its whole window to bring; its backlog comes with the overdue rows.
            begin = after if after is None or biz_type.id in self._open else now - OVERDUE
            for page in pages(biz_type.id, after=begin, until=until, using=self.using):
                loaded += len(self._ensure(biz_type, page))
                self._uptime.note_answer()
                self._reporter.run_once(epoch=self._timer_loss.epoch)
                self._leader.hold()
        return loaded

    def _arm_overdue(self, biz_types: Iterable[BizType], *, now: datetime) -> int:
        """Ensures the timers of a bounded number of overdue rows; of a biz type that lacks none, only a page.

        Biz types that are shut cost nothing.
        """
        armed, pages_left = 0, OVERDUE_PAGES
        waiting = {biz_type.id: biz_type for biz_type in biz_types if not biz_type.is_shut(now=now)}
        self._walks = {key: position for key, position in self._walks.items() if key in waiting}
        # The walks are in the order of their last steps; biz types that no step has reached yet come first.
        unreached = [key for key in waiting if key not in self._walks]
        for key in [*unreached, *self._walks]:
            if waiting[key].is_ordered:
                armed += self._arm_first(waiting[key], now=now)
            after = self._walks.pop(key, None)
            self._walks[key] = None
            for page in pages(key, after=after, until=now - OVERDUE, using=self.using):
                outcomes = self._ensure(waiting[key], page, but_first=True)
                armed += len(outcomes)
                self._uptime.note_answer()
                pages_left -= 1
                # Rows that have timers wait for workers; walking all of them at once would slow those workers down.
                if len(page) == pending_rows.PAGE_ROWS and (not pages_left or set(outcomes) <= {"left"}):
                    self._walks[key] = page[-1].position
                    break
            if not pages_left:
                break
        return armed

    def _arm_first(self, biz_type: BizType, *, now: datetime) -> int:
        """Ensures the timers of overdue first jobs of so many flow keys; all that wait for those need none."""
        after = self._keys.get(biz_type.pk, "")
        first, last = first_jobs_page(biz_type.pk, after=after, most=TURN_KEYS, using=self.using)
        self._keys[biz_type.pk] = last or ""
        overdue = [job for job in first if job.needs_timer(now=now) and job.next_run_at <= now - OVERDUE]
        return len(ensure_timers(Timer.of(job, biz_type) for job in overdue))

    def _ensure(self, biz_type: BizType, rows: Sequence[PendingRow], *, but_first: bool = False) -> list[str]:
        """For each row that needs a timer, in no order, what became of that."""
        now = now_by(self.clock)
        return ensure_timers(
            Timer.of(row, biz_type)
            for row in with_turn(biz_type, rows, but_first=but_first, using=self.using)
            if row.under_way_until is None or row.under_way_until <= now
        )


class Leader:
    """Holds the seat of the one worker at a time whose loader works, a lease in Redis, or tries to.

    Args:
        holder: the name that the seat is taken with.
    """

    def __init__(self, *, holder: str = "") -> None:
        self._holder = holder or uuid4().hex

    def hold(self) -> bool:
        """Takes the seat or keeps it for another lease; False where another loader has it. Raises RedisError."""
        return patient_lanes()[0].hold(self._holder, lease_ms=int(options().loader_lease_seconds * 1000))

    def resign(self) -> None:
        """Gives the seat up, so that another loader need not wait for the lease to end. Raises RedisError."""
        lane = patient_lanes()[0]
        if lane.client.get(lane.keys.loader) == self._holder.encode():
            lane.client.delete(lane.keys.loader)


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
        worker = f"{socket.gethostname()}:{os.getpid()}"[:200]
        # Mostly its own report is there: a statement in the place of a transaction.
        if not reports.filter(epoch=epoch, worker=worker, redis=timer_address()).update(seen_at=Now()):
            report = LoaderReport(epoch=epoch, redis=timer_address(), worker=worker, seen_at=Now())
            reports.bulk_create(
                [report], update_conflicts=True, unique_fields=["epoch"], update_fields=["redis", "worker", "seen_at"]
            )
        self._epoch, self._next_at = epoch, now + REPORT_SECONDS
        return True
