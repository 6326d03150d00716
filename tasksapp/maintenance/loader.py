"""The loader: brings timers from the database into Redis, and rows back from workers that were lost.

One at a time by a Redis lease, in any worker; each turn is one :meth:`Loader.run_once`. Every turn arms the rows that
enter the near window and those that are overdue, returns lost leases and writes the gates. Where timers were lost with
Redis, it loads the whole window again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

import redis
from django.db import Error

from delayhub.clock import moment
from delayhub.engine import Gate
from tasksapp.biz_types.breaker import CLOSED, Breaker, read_breakers
from tasksapp.biz_types.gate import gate_of
from tasksapp.conf import options
from tasksapp.maintenance.database_uptime import Patience
from tasksapp.models import BizType, Status
from tasksapp.sql import pending_rows as sweep
from tasksapp.sql.pending_rows import Place, Row, count_pending, pages, standing
from tasksapp.sql.renew_leases import return_lost_leases
from tasksapp.timers.arming import settle
from tasksapp.timers.lanes import client, patient_lane, patient_lanes
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.timer import Timer, grouped

logger = logging.getLogger(__name__)

#: A due job that is still pending after this long is looked at: its timer is missing, or it waits for a worker.
OVERDUE = timedelta(seconds=2)
#: Pages of overdue rows in one turn, over all biz types; the next turn goes on where this one ended.
OVERDUE_PAGES = 10
#: Lost rows that one turn returns.
LOST_ROWS = 5_000
#: Timers and rows of the window are counted against each other this often.
COUNT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one turn did.

    Args:
        held: whether this loader had the seat; without it, it did nothing.
        entered: rows that entered the window, or were loaded again.
        overdue: overdue rows whose timer was ensured.
        returned: rows of lost workers.
        reloaded: whether the whole window was loaded.
    """

    held: bool
    entered: int = 0
    overdue: int = 0
    returned: int = 0
    reloaded: bool = False


class _Server(NamedTuple):
    """Which Redis this is, and which of its lives; another one may lack timers."""

    run_id: str
    replication_id: str
    epochs: tuple[str | None, ...]


class Loader:
    """Keeps Redis in step with one database.

    Args:
        using: the database.
        clock: Redis' time.
        holder: the name that its seat is taken with.
    """

    def __init__(self, *, using: str, clock: RedisClock | None = None, holder: str = "") -> None:
        self._using = using
        self._clock = clock or RedisClock(client)
        self._holder = holder or uuid4().hex
        self._server: _Server | None = None
        self._horizon: datetime | None = None
        self._walks: dict[int, Place | None] = {}
        self._gates: dict[tuple[str, str], tuple[Gate, datetime]] = {}
        self._open: set[int] = set()
        self._count_at = 0.0
        self._held = False
        self._patience = Patience(self._clock)

    def run_once(self) -> Turn:
        """One turn. Raises what Redis or the database raise; the next turn makes good for it."""
        if not self._hold():
            self._server, self._held = None, False
            return Turn(held=False)
        lane = patient_lanes()[0]
        try:
            self._clock.sync()
            if not self._held:
                self._patience.take_over(lane)
                self._held = True
            turn = self._turn()
        except Error:
            self._patience.begin_anew(lane)
            raise
        self._patience.leave(lane)
        return turn

    def resign(self) -> None:
        """Gives the seat up, so that another loader need not wait for the lease to end."""
        lane = patient_lanes()[0]
        if lane.client.get(lane.keys.loader) == self._holder.encode():
            lane.client.delete(lane.keys.loader)

    def reload(self, *, advance: Callable[[int], object] = lambda _: None) -> int:
        """Loads the whole window, whoever has the seat; how many rows that was. ``advance`` hears of each page."""
        self._clock.sync()
        now = self._now()
        biz_types = list(BizType.objects.using(self._using))
        self._write_gates(biz_types, now=now, all_of_them=True)
        return self._load(biz_types, after=None, until=now + _window(), advance=advance)

    def _turn(self) -> Turn:
        now = self._now()
        until = now + _window()
        found = standing(after=self._horizon, until=until, overdue_since=now - OVERDUE, using=self._using)
        biz_types = found.biz_types
        self._patience.hear()
        server = self._look_at_server()
        reloaded = server != self._server or self._timers_are_missing(biz_types, now=now)
        self._write_gates(biz_types, now=now, all_of_them=reloaded)
        if reloaded:
            logger.info("loading all timers of the next %s", _window(), extra={"action": "reload"})
            entered, overdue = self._load(biz_types, after=None, until=until), 0
        else:
            # One that just opened brings its whole window, whether or not anything enters it now.
            awake = [each for each in biz_types if each.id in found.entering or each.id not in self._open]
            entered = self._load(awake, after=self._horizon, until=until)
            overdue = self._arm_overdue([each for each in biz_types if each.id in found.overdue], now=now)
        self._open = {each.id for each in biz_types if not each.is_shut(now=now)}
        self._server, self._horizon = server, until
        return Turn(held=True, entered=entered, overdue=overdue, returned=self._return_lost(now), reloaded=reloaded)

    def _load(
        self,
        biz_types: Sequence[BizType],
        *,
        after: datetime | None,
        until: datetime,
        advance: Callable[[int], object] = lambda _: None,
    ) -> int:
        """Ensures timers of the window, but none of biz types that are shut: those need none until they open."""
        loaded, now = 0, self._now()
        for biz_type in biz_types:
            if biz_type.is_shut(now=now):
                continue
            # One that just opened has the whole window to bring, its backlog comes with the overdue rows.
            begin = after if after is None or biz_type.id in self._open else now - OVERDUE
            for page in pages(biz_type.id, after=begin, until=until, using=self._using):
                loaded += len(self._ensure(biz_type, page))
                advance(len(page))
                self._patience.hear()
                self._hold()
        return loaded

    def _arm_overdue(self, biz_types: Iterable[BizType], *, now: datetime) -> int:
        """Ensures timers of a bounded number of overdue rows, a page of each biz type while none is missing.

        Shut biz types cost nothing.
        """
        armed, pages_left = 0, OVERDUE_PAGES
        waiting = {biz_type.id: biz_type for biz_type in biz_types if not biz_type.is_shut(now=now)}
        self._walks = {key: place for key, place in self._walks.items() if key in waiting}
        # The walks are in the order of their last steps; who was not reached goes before all who were.
        unreached = [key for key in waiting if key not in self._walks]
        for key in [*unreached, *self._walks]:
            after = self._walks.pop(key, None)
            self._walks[key] = None
            for page in pages(key, after=after, until=now - OVERDUE, using=self._using):
                outcomes = self._ensure(waiting[key], page)
                armed += len(outcomes)
                self._patience.hear()
                pages_left -= 1
                # Rows with timers wait for workers; to walk all of them at once would take time from those workers.
                if len(page) == sweep.PAGE_ROWS and (not pages_left or set(outcomes) <= {"left"}):
                    self._walks[key] = page[-1].place
                    break
            if not pages_left:
                break
        return armed

    def _ensure(self, biz_type: BizType, rows: Iterable[Row]) -> list[str]:
        """For each row that needs a timer, in no order, what became of that."""
        now = self._now()
        timers = [Timer.of(row, biz_type) for row in rows if row.under_way_until is None or row.under_way_until <= now]
        return [
            outcome
            for (lane, queue, step), group in grouped(timers).items()
            for outcome in patient_lane(lane).ensure(queue, group, step=step)
        ]

    def _return_lost(self, now: datetime) -> int:
        self._patience.hear()
        if not self._patience.is_over():
            return 0
        returned = 0
        while returned < LOST_ROWS:
            lost = return_lost_leases(
                now=now, limit=500, max_system_errors=options().max_system_errors, using=self._using
            )
            for job in lost:
                timer = Timer.of(job, job.biz_type)
                if job.biz_type.max_in_flight is not None:
                    settle(timer.lane, timer.queue, [job.id])
                if job.status == Status.PENDING:
                    for (lane, queue, step), group in grouped([timer]).items():
                        patient_lane(lane).ensure(queue, group, step=step)
                logger.warning(
                    "job %s lost its worker %s and is %s",
                    job.id,
                    job.worker,
                    job.status,
                    extra={"action": "return", "job_id": str(job.id)},
                )
            returned += len(lost)
            if len(lost) < 500:
                break
        return returned

    def _write_gates(self, biz_types: Sequence[BizType], *, now: datetime, all_of_them: bool) -> None:
        breakers: dict[tuple[str, str], Breaker] = {}
        for lane in {biz_type.lane for biz_type in biz_types}:
            here = [biz_type for biz_type in biz_types if biz_type.lane == lane]
            breakers |= {(lane, code): state for code, state in read_breakers(patient_lane(lane), here).items()}
        for biz_type in biz_types:
            gate = gate_of(biz_type, now=now, breaker=breakers.get((biz_type.lane, biz_type.code), CLOSED))
            # After an edit in any case: a breaker of its former host may have shut the gate that is there.
            known = self._gates.get((biz_type.lane, biz_type.code))
            if all_of_them or known != (gate, biz_type.updated_at):
                patient_lane(biz_type.lane).set_gate(biz_type.code, gate)
                self._gates[biz_type.lane, biz_type.code] = gate, biz_type.updated_at

    def _timers_are_missing(self, biz_types: Iterable[BizType], *, now: datetime) -> bool:
        """Whether Redis holds fewer timers than the database has rows in the window."""
        if self._horizon is None or self._clock.monotonic() < self._count_at:
            return False
        self._count_at = self._clock.monotonic() + COUNT_SECONDS
        for biz_type in biz_types:
            if biz_type.id not in self._open:
                continue
            # Not those about to be due: they may be on their way to a worker.
            rows = count_pending(biz_type.id, after=now + timedelta(seconds=30), until=self._horizon, using=self._using)
            if rows and patient_lane(biz_type.lane).count(biz_type.code) < rows:
                logger.warning("Redis lacks timers of %s", biz_type.code, extra={"action": "count", "rows": rows})
                return True
        return False

    def _look_at_server(self) -> _Server:
        try:
            info = client().info()
        except redis.ResponseError:
            info = {}  # a hosted Redis may hide it; the epoch and the count still tell
        epochs = []
        for lane in patient_lanes():
            lane.client.set(lane.keys.epoch, uuid4().hex, nx=True)
            epoch = lane.client.get(lane.keys.epoch)
            epochs.append(epoch.decode() if isinstance(epoch, bytes) else epoch)
        return _Server(str(info.get("run_id", "")), str(info.get("master_replid", "")), tuple(epochs))

    def _hold(self) -> bool:
        return patient_lanes()[0].hold(self._holder, lease_ms=int(options().loader_lease_seconds * 1000))

    def _now(self) -> datetime:
        return moment(self._clock.now_ms())


def _window() -> timedelta:
    return timedelta(seconds=options().near_window_seconds)
