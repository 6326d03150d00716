"""Runner: changes the jobs of a running operation, some pages in each turn, as its pace and the biz types allow."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from delayhub.clock import Clock, now_by
from tasksapp.models import BizType, Operation
from tasksapp.operations.backfill import lost_series, paced, pages_of
from tasksapp.operations.cursor import Cursor, Walk, unix_ms
from tasksapp.operations.feed import (
    LOOK_AHEAD,
    Allowance,
    allowance,
    breaker_of,
    demand_of,
    feed_of,
    hindrance_of,
    why_held,
)
from tasksapp.operations.pages import Pages
from tasksapp.operations.progress import trial_result
from tasksapp.operations.row import PageSize, ended, saved
from tasksapp.operations.starter import lost_right
from tasksapp.operations.verbs import BACKFILL, source_of

State = Operation.State
#: Jobs with their own times that one transaction changes at most; those that share one are many more.
SPACED_ROWS = 500
#: Jobs that others hold locked are waited for so long; then the operation ends and names them.
LOCKED_WAIT = timedelta(seconds=30)
#: So many of them are named.
MOST_NAMED = 5
#: Jobs that were left out are counted so far.
MOST_LEFT_OUT = 1_000
#: The rate that is shown is that of the last seconds, or at a slow pace of its last jobs.
RATE_SECONDS, RATE_JOBS = 2.0, 2
#: Verbs that make jobs due. Their jobs go as they can start; what cancels or drops starts nothing.
STARTING = frozenset({"redrive", "run_now", BACKFILL})


class Runner:
    """Runs operations of one database.

    Args:
        using: the database.
        clock: Redis' time, by which jobs start.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._size = PageSize(clock)

    def run_once(self, operation: Operation, *, until: float) -> None:
        """One turn: changes jobs until that moment, in monotonic seconds, or until its pace allows no more.

        Raises Superseded where somebody stopped it or gave it another pace meanwhile.
        """
        cursor = Cursor.of(operation)
        cursor.turn_at, cursor.waits, cursor.holds = self._clock.now_ms(), {}, {}
        if why := lost_right(operation, kind=cursor.starter, using=self._using):
            self._end(operation, cursor, State.STOPPED, why=why)
            return
        if operation.verb == BACKFILL and (why := lost_series(operation, mark=cursor.schedule, using=self._using)):
            self._end(operation, cursor, State.STOPPED, why=why)
            return
        if (other := blocker(operation, using=self._using)) is not None:
            cursor.waits = {"why": "operation", "operation": other}
        elif self._may_go_on(operation, cursor):
            self._walk_all(operation, cursor, until=until)
        if operation.state != State.RUNNING:
            return
        if all(walk.over for walk in cursor.walks) and not cursor.waits:
            self._finish(operation, cursor)
            return
        self._note_rate(operation, cursor)
        saved(operation, cursor, using=self._using, clock=self._clock)

    # ------------------------------------------------------------ the trial

    def _may_go_on(self, operation: Operation, cursor: Cursor) -> bool:
        """Whether more jobs may go: not while a trial waits for its first attempts, nor after it failed."""
        if cursor.trial != "running":
            return True
        if cursor.trial_at is None:
            cursor.trial_at = self._clock.now_ms()
        went = operation.done >= operation.trial_jobs or all(walk.over for walk in cursor.walks)
        if not went:
            return True
        result = trial_result(operation, cursor, using=self._using)
        verdict = result.verdict(percent=operation.trial_percent)
        if verdict == "running":
            cursor.waits = self._why_trial_waits(cursor) or {"why": "trial", **result._asdict(), "ended": result.ended}
            return False
        cursor.trial = verdict
        if verdict == "failed":
            why = (
                f"its trial failed: of {result.jobs} first attempts {result.failed} failed;"
                f" {operation.trial_percent} of a hundred were to succeed"
            )
            self._end(operation, cursor, State.STOPPED, why=why)
        return verdict == "passed"

    def _why_trial_waits(self, cursor: Cursor) -> dict[str, Any]:
        now = now_by(self._clock)
        for biz_type in BizType.objects.using(self._using).filter(id__in=[walk.biz_type for walk in cursor.walks]):
            if hindrance := hindrance_of(biz_type, breaker=breaker_of(biz_type), now=now):
                return hindrance
        return {}

    # ------------------------------------------------------------ the walk

    def _walk_all(self, operation: Operation, cursor: Cursor, *, until: float) -> None:
        """Changes jobs of one biz type after the other; where time runs out, the next turn goes on with the others."""
        walks = [walk for walk in cursor.walks if not walk.over]
        begin = next((at for at, walk in enumerate(walks) if walk.biz_type == cursor.next_biz_type), 0)
        cursor.next_biz_type = None
        for number, walk in enumerate(walks[begin:] + walks[:begin]):
            if number and self._clock.monotonic() >= until:
                cursor.next_biz_type = walk.biz_type
                self._note_lack_of_time(operation, cursor)
                break
            self._walk(operation, cursor, walk, until=until)

    def _walk(self, operation: Operation, cursor: Cursor, walk: Walk, *, until: float) -> None:
        """Changes jobs of one biz type."""
        biz_type = BizType.objects.using(self._using).filter(id=walk.biz_type).first()
        if biz_type is None:
            walk.over = True
            return
        allowed = self._allowance(operation, cursor, walk, biz_type)
        if allowed.waits:
            cursor.waits = cursor.waits or allowed.waits
        pages = pages_of(operation, biz_type_id=walk.biz_type, using=self._using)
        while allowed.jobs > 0 and not walk.over:
            most = min(allowed.jobs, self._size.batch)
            if allowed.step_ms:
                most = min(most, SPACED_ROWS)
            if cursor.trial == "running":
                most = min(most, operation.trial_jobs - operation.done)
            if most <= 0:
                break
            changed = self._change_page(operation, cursor, walk, pages, biz_type, allowed=allowed, most=most)
            allowed = allowed.after(changed)
            if self._blocked(walk):
                break
            if self._clock.monotonic() >= until:
                if allowed.jobs > 0 and not walk.over:
                    self._note_lack_of_time(operation, cursor)
                break
        if self._blocked(walk):
            cursor.waits = cursor.waits or {"why": "locked", "biz_type": biz_type.label}

    def _note_lack_of_time(self, operation: Operation, cursor: Cursor) -> None:
        """More jobs may go than the turn has time for. The pace of a new time is that of the times, not of turns."""
        if operation.rate_per_second is not None and operation.due_at is None:
            cursor.holds = cursor.holds or {"why": "time"}

    def _change_page(
        self,
        operation: Operation,
        cursor: Cursor,
        walk: Walk,
        pages: Pages[Any],
        biz_type: BizType,
        *,
        allowed: Allowance,
        most: int,
    ) -> int:
        """Changes the jobs of one page; they, the counters and the cursor are one transaction."""
        with self._size.measured() as rows, transaction.atomic(using=self._using):
            page = pages.lock(walk, most=most, rows=rows)
            times = allowed.times(len(page.jobs))
            changed = pages.change(page.jobs, biz_type, times=times, now=now_by(self._clock))
            walk.after = page.after
            walk.changed += changed
            if changed:
                walk.blocked_since = None
            if times:
                walk.last_at = times[-1]
            elif changed:
                walk.last_at = float(self._clock.now_ms())
            if page.is_last:
                self._end_pass(walk, pages)
            saved(operation, cursor, using=self._using, clock=self._clock, done=F("done") + changed)
        self._size.judge_batch(changed)
        operation.done += changed
        return changed

    def _end_pass(self, walk: Walk, pages: Pages[Any]) -> None:
        """After a pass that changed nothing the walk is over, unless jobs are left that others hold at this moment."""
        if pages.passes_over:
            walk.after = None
        if walk.changed:
            walk.changed = 0
            return
        now_ms = self._clock.now_ms()
        if not pages.left(most=1):
            walk.over = True
        elif walk.blocked_since is None:
            walk.blocked_since = now_ms
        elif now_ms - walk.blocked_since > LOCKED_WAIT.total_seconds() * 1000:
            walk.over = True

    def _blocked(self, walk: Walk) -> bool:
        return walk.blocked_since is not None and not walk.over and walk.after is None

    def _allowance(self, operation: Operation, cursor: Cursor, walk: Walk, biz_type: BizType) -> Allowance:
        """How many jobs of the walk may go in this turn, and when they start."""
        now = now_by(self._clock)
        pace = operation.rate_per_second
        if pace is not None:
            pace /= sum(not each.over for each in cursor.walks)
        now_ms = float(self._clock.now_ms())
        if not starts_jobs(operation, now=now):
            due_ms = None if operation.due_at is None else float(unix_ms(operation.due_at))
            return allowance(walk, pace=pace, now_ms=now_ms, due_ms=due_ms)
        breaker = breaker_of(biz_type)
        if hindrance := hindrance_of(biz_type, breaker=breaker, now=now):
            return Allowance(0, waits=hindrance)
        demand = demand_of(operation, biz_type, now=now, using=self._using)
        feed = feed_of(walk, biz_type, demand, breaker=breaker, now=now)
        if feed <= 0:
            return Allowance(0, waits={"why": "busy", "biz_type": biz_type.label})
        if pace is not None and feed < pace:
            cursor.holds = cursor.holds or {"why": why_held(walk, feed), "biz_type": biz_type.label}
        rate = feed if pace is None else min(pace, feed)
        allowed = allowance(walk, pace=rate, now_ms=now_ms, ahead_ms=LOOK_AHEAD.total_seconds() * 1000)
        return paced(operation, allowed, using=self._using) if operation.verb == BACKFILL else allowed

    # ------------------------------------------------------------ the end

    def _finish(self, operation: Operation, cursor: Cursor) -> None:
        """The operation is done; jobs that others held until the end are named."""
        named: list[UUID] = []
        for walk in cursor.walks:
            if walk.blocked_since is not None:
                pages = pages_of(operation, biz_type_id=walk.biz_type, using=self._using)
                named += pages.left(most=MOST_NAMED + 1 - len(named))
        why = ""
        if named:
            ids = ", ".join(str(job_id) for job_id in named[:MOST_NAMED])
            more = " and others" if len(named) > MOST_NAMED else ""
            why = f"Others held these jobs locked until the end: {ids}{more}."
        why = " ".join(filter(None, [why, self._left_out(operation, cursor)]))
        self._end(operation, cursor, State.DONE, why=why)

    def _left_out(self, operation: Operation, cursor: Cursor) -> str:
        """Says how many jobs cannot be live again; '' for none."""
        out = 0
        for walk in cursor.walks:
            pages = pages_of(operation, biz_type_id=walk.biz_type, using=self._using)
            out += pages.left_out(most=MOST_LEFT_OUT)
        if not out:
            return ""
        number = f"{out}" if out < MOST_LEFT_OUT else f"{out} or more"
        return f"Left out, since another job of their biz id is live or it is resolved: {number}."

    def _end(self, operation: Operation, cursor: Cursor, state: Operation.State, *, why: str) -> None:
        ended(operation, state, why=why, cursor=cursor, using=self._using, clock=self._clock)

    def _note_rate(self, operation: Operation, cursor: Cursor) -> None:
        now_ms = self._clock.now_ms()
        if cursor.seen_at is None:
            cursor.seen_at, cursor.seen_done = now_ms, 0
        seconds = (now_ms - cursor.seen_at) / 1000
        if seconds < max(RATE_SECONDS, RATE_JOBS / (operation.rate_per_second or math.inf)):
            return
        lately = (operation.done - cursor.seen_done) / seconds
        cursor.per_second = lately if not cursor.per_second else (cursor.per_second + lately) / 2
        cursor.seen_at, cursor.seen_done = now_ms, operation.done


def starts_jobs(operation: Operation, *, now: datetime) -> bool:
    """Whether its jobs become due at once, so that they must go no faster than they can start."""
    if operation.due_at is not None:
        return operation.due_at <= now + LOOK_AHEAD
    return operation.verb in STARTING


def blocker(operation: Operation, *, using: str) -> int | None:
    """The number of the running operation that this one waits for; None where it may go.

    One at a time changes the jobs of a biz type that stand in one status.
    """
    source = source_of(operation.verb)
    alike = [name for name in Operation.VerbName.values if source_of(name) == source]
    rows = Operation.objects.using(using).filter(state=State.RUNNING, verb__in=alike).exclude(pk=operation.pk)
    if operation.biz_type_id is not None:
        rows = rows.filter(biz_type_id=operation.biz_type_id) | rows.filter(biz_type_id=None)
    if operation.tenant_id is not None:
        rows = rows.filter(Q(tenant_id=operation.tenant_id) | Q(tenant_id__isnull=True))
    earlier = [
        other
        for other in rows.order_by("started_at", "id")[:100]
        if (other.started_at, other.pk) < (operation.started_at, operation.pk)
    ]
    return earlier[0].pk if earlier else None
