"""Counter: counts jobs, created ones and what lies ahead, and folds pulses, for those that must not count themselves.

It takes its time from a thread of its own, never from the loader's turns; and the longer a count takes, the rarer it
is: at most one part in twenty of the time goes into counting.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import groupby, pairwise

from django.db import Error, connections, transaction

from delayhub.clock import Clock, now_by
from tasksapp.maintenance.creation_counter import CreationCounter
from tasksapp.models import BizType, DeadCount, JobCount, Pulse, Status, Upcoming
from tasksapp.sql.count_jobs import CountedJobs, count_jobs
from tasksapp.sql.count_of_tenants import count_of_tenants
from tasksapp.sql.driver.fork_guard import ForkGuard
from tasksapp.sql.pulses import DELETED_ROWS, delete_pulses, fold_pulses
from tasksapp.sql.upcoming import count_upcoming
from tasksapp.stats.pulses import FINE_KEPT, HOUR, HOURS_KEPT, MINUTE, TEN_MINUTES, floor, settled_until
from tasksapp.stats.upcoming import DAY_SECONDS, FINE_HOURS, FINE_SECONDS, days_from

#: How often each is done, where it is quick.
COUNT_SECONDS, AHEAD_SECONDS, DAYS_SECONDS, FOLD_SECONDS, CREATED_SECONDS = 10.0, 60.0, 300.0, 60.0, 10.0
#: After work of a second there are so many without.
IDLE_SHARE = 20.0
#: A statement that takes longer is ended, and tried again later.
TIMEOUT_SECONDS = 30.0
#: Minutes are summed again for so long: a process that was held up may add to them late.
LATE = timedelta(hours=2)


class Counter:
    """Counts for one database.

    Args:
        using: the database.
        clock: Redis' time, by which jobs are due.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._creations = CreationCounter(using=using)
        self._work: list[tuple[Callable[[], None], float]] = [
            (self.count, COUNT_SECONDS),
            (self.count_of_tenants, COUNT_SECONDS),
            (self.look_ahead, AHEAD_SECONDS),
            (self.look_days_ahead, DAYS_SECONDS),
            (self.fold, FOLD_SECONDS),
            (self.count_created, CREATED_SECONDS),
        ]
        #: When each of them is due, in monotonic seconds.
        self._due = [0.0] * len(self._work)
        self._folded: datetime | None = None

    def run_once(self) -> float:
        """Does what is due, and gives back how many seconds later something is. Raises what the database raises."""
        for number, (work, every) in enumerate(self._work):
            began = self._clock.monotonic()
            if began < self._due[number]:
                continue
            # Also where it fails: it may be what takes too long.
            try:
                work()
            finally:
                now = self._clock.monotonic()
                self._due[number] = max(began + every, now + IDLE_SHARE * (now - began))
        return max(0.0, min(self._due) - self._clock.monotonic())

    def count(self) -> None:
        """Counts all live and dead jobs at one moment."""
        now, found = count_jobs(clock=lambda: now_by(self._clock), using=self._using, timeout_seconds=TIMEOUT_SECONDS)
        by_biz_type: dict[int, dict[str, list[CountedJobs]]] = defaultdict(lambda: defaultdict(list))
        for row in found:
            by_biz_type[row.biz_type_id][row.status].append(row)
        with transaction.atomic(using=self._using):
            ids = list(BizType.objects.using(self._using).order_by("id").values_list("id", flat=True))
            counts = [_job_count(biz_type_id, by_biz_type[biz_type_id], now=now) for biz_type_id in ids]
            fields = ["pending", "due_now", "running", "dead", "oldest_due_at", "next_due_at", "counted_at"]
            JobCount.objects.using(self._using).bulk_create(
                counts, update_conflicts=True, unique_fields=["biz_type"], update_fields=fields
            )
            dead = DeadCount.objects.using(self._using)
            dead.bulk_create(
                [
                    DeadCount(
                        biz_type_id=row.biz_type_id,
                        error_class=row.error_class,
                        dead=row.jobs,
                        first_at=row.first_at,
                        last_at=row.last_at,
                        counted_at=now,
                    )
                    for row in sorted(found, key=lambda row: (row.biz_type_id, row.error_class))
                    if row.status == Status.DEAD and row.biz_type_id in ids
                ],
                update_conflicts=True,
                unique_fields=["biz_type", "error_class"],
                update_fields=["dead", "first_at", "last_at", "counted_at"],
            )
            dead.filter(counted_at__lt=now).delete()

    def count_of_tenants(self) -> None:
        """Counts what tenants have of what their quotas limit; pending jobs as ``count`` has just counted them."""
        count_of_tenants(now=now_by(self._clock), using=self._using, timeout_seconds=TIMEOUT_SECONDS)

    def look_ahead(self) -> None:
        """Counts the jobs of the next day, by five minutes."""
        begin = floor(now_by(self._clock), FINE_SECONDS)
        end, step = begin + timedelta(hours=FINE_HOURS), timedelta(seconds=FINE_SECONDS)
        self._store_ahead([(begin, end, step)], seconds=FINE_SECONDS)

    def look_days_ahead(self) -> None:
        """Counts the jobs of the next 30 days, by days of the project's time zone."""
        days = pairwise(days_from(now_by(self._clock)))
        # One statement, and where clocks change, one for the day of that and one for those behind it.
        runs = [(step, list(run)) for step, run in groupby(days, key=lambda day: day[1] - day[0])]
        self._store_ahead([(run[0][0], run[-1][1], step) for step, run in runs], seconds=DAY_SECONDS)

    def count_created(self) -> None:
        """Counts the jobs that were created in the minutes that are over."""
        self._creations.run_once(now=now_by(self._clock))

    def fold(self) -> None:
        """Sums the minutes of stretches that ended, and deletes pulses that have been kept long enough."""
        now = now_by(self._clock)
        begin = self._fold_from(now)
        minutes = Pulse.objects.using(self._using).filter(span_seconds=MINUTE, at__gte=floor(begin, HOUR))
        # Where nothing happened for hours, one statement in the place of one for each stretch.
        for span in (TEN_MINUTES, HOUR) if minutes.exists() else ():
            at, settled = floor(begin, span), settled_until(span, now=now)
            while at < settled:
                fold_pulses(begin=at, end=at + timedelta(seconds=span), using=self._using)
                at += timedelta(seconds=span)
        self._folded = now
        fine = floor(now - FINE_KEPT, HOUR)
        for span, before in ((MINUTE, fine), (TEN_MINUTES, fine), (HOUR, now - HOURS_KEPT)):
            while delete_pulses(span, before=before, using=self._using) == DELETED_ROWS:
                pass

    def _store_ahead(self, ranges: Iterable[tuple[datetime, datetime, timedelta]], *, seconds: int) -> None:
        """Stores what comes from one moment to another, each by stretches of one length; a row is of ``seconds``."""
        counted = {
            (row.biz_type_id, begin + row.number * step): row.jobs
            for begin, end, step in ranges
            for row in count_upcoming(
                begin=begin,
                end=end,
                seconds=round(step.total_seconds()),
                using=self._using,
                timeout_seconds=TIMEOUT_SECONDS,
            )
        }
        now = now_by(self._clock)
        with transaction.atomic(using=self._using):
            stored = Upcoming.objects.using(self._using).filter(span_seconds=seconds)
            known = {(row.biz_type_id, row.at): row for row in stored}
            ids = set(BizType.objects.using(self._using).values_list("id", flat=True))
            gone = [row.id for place, row in known.items() if place not in counted]
            changed = [
                Upcoming(
                    biz_type_id=place[0],
                    at=place[1],
                    span_seconds=seconds,
                    jobs=jobs,
                    counted_at=now,
                )
                for place, jobs in sorted(counted.items())
                if place[0] in ids and (place not in known or known[place].jobs != jobs)
            ]
            stored.filter(id__in=gone).delete()
            Upcoming.objects.using(self._using).bulk_create(
                changed,
                update_conflicts=True,
                unique_fields=["biz_type", "span_seconds", "at"],
                update_fields=["jobs", "counted_at"],
            )

    def _fold_from(self, now: datetime) -> datetime:
        """Where summing begins: late counts may have come since the last time."""
        if self._folded is not None:
            return self._folded - LATE
        pulses = Pulse.objects.using(self._using).order_by("at")
        newest = pulses.filter(span_seconds=HOUR).last()
        if newest is not None:
            return newest.at - LATE
        oldest = pulses.filter(span_seconds=MINUTE).first()
        return now if oldest is None else oldest.at


def _job_count(biz_type_id: int, found: dict[str, list[CountedJobs]], *, now: datetime) -> JobCount:
    pending = found[Status.PENDING][0] if found[Status.PENDING] else None
    return JobCount(
        biz_type_id=biz_type_id,
        pending=pending.jobs if pending else 0,
        due_now=pending.due if pending else 0,
        oldest_due_at=pending.first_at if pending else None,
        next_due_at=pending.last_at if pending else None,
        running=sum(row.jobs for row in found[Status.RUNNING]),
        dead=sum(row.jobs for row in found[Status.DEAD]),
        counted_at=now,
    )


logger = logging.getLogger(__name__)

#: How often it looks whether its loader has the seat, and whether something is due.
LOOK_SECONDS = 1.0


class CountingThread:
    """Runs the counter until it is stopped.

    Args:
        counter: what counts.
        holds_seat: whether the loader of this worker has the seat.
        using: the database.
    """

    def __init__(self, counter: Counter, *, holds_seat: Callable[[], bool], using: str) -> None:
        self._counter = counter
        self._holds_seat = holds_seat
        self._using = using
        self._stop = threading.Event()
        self._guard = ForkGuard()
        self._thread = threading.Thread(target=self._run, name="delayhub-counting", daemon=True)

    def start(self) -> None:
        """Begins as soon as the loader has the seat."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the work under way."""
        self._stop.set()
        self._thread.join(10.0)

    def run_once(self) -> bool:
        """Does what is due, where the loader has the seat; whether that succeeded. A failure is logged.

        Its connection is kept for as long: a new one for each count is most of what an idle site costs PostgreSQL.
        """
        if not self._holds_seat():
            self._close_connection()
            return True
        with self._guard:
            try:
                self._counter.run_once()
            except Error as error:
                logger.warning("jobs were not counted, trying again: %s", error, extra={"action": "count"})
            except Exception:
                # Pages need later counts, so no failure of one turn may end this thread.
                logger.exception("jobs were not counted, trying again", extra={"action": "count"})
            else:
                return True
            self._close_connection()
        return False

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            self.run_once()
        self._close_connection()

    def _close_connection(self) -> None:
        connections[self._using].close()
