"""OperationTurns: gives the open operations their share of each turn of maintenance."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from delayhub.clock import Clock, now_by
from tasksapp.conf import options
from tasksapp.models import Operation
from tasksapp.models.database_faults import is_away
from tasksapp.operations.cursor import Cursor
from tasksapp.operations.planner import Planner
from tasksapp.operations.row import Superseded, ended
from tasksapp.operations.runner import Runner

logger = logging.getLogger(__name__)

State = Operation.State
#: The part of a turn that operations get: timers, gates and lost leases must not wait for them.
SHARE = 0.25
#: Operations in one state that one turn looks at: those whose last turn is longest ago.
MOST = 50
#: A plan that was not started for so long ends.
PLAN_KEPT = timedelta(days=1)


class OperationTurns:
    """Works the operations of one database off.

    Args:
        using: the database.
        clock: Redis' time.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._planner = Planner(using=using, clock=clock)
        self._runner = Runner(using=using, clock=clock)
        #: For each state: the operation that the last turn had no time for.
        self._next: dict[str, int] = {}

    def run_once(self) -> int:
        """How many operations had a turn: ask where any is open. Raises what the database raises when it is away."""
        rows = Operation.objects.using(self._using)
        now = now_by(self._clock)
        for stale in rows.filter(state=State.PLANNED, updated_at__lt=now - PLAN_KEPT)[:MOST]:
            self._end(stale, State.STOPPED, why="it was planned a day ago and not started")
        # Plans first: a person waits for their count.
        # Each turn writes the row: those that only wait keep no others from theirs, however many there are.
        plans = sorted(rows.filter(state=State.PLANNING).order_by("updated_at", "id")[:MOST], key=_by_id)
        running = sorted(rows.filter(state=State.RUNNING).order_by("updated_at", "id")[:MOST], key=_by_start)
        end = self._clock.monotonic() + SHARE * options().sweep_seconds
        turns = self._share(plans, end=end, others=len(running))
        return turns + self._share(running, end=end, others=0)

    def _share(self, waiting: Sequence[Operation], *, end: float, others: int) -> int:
        """How many of the operations had a turn: one at least, and the others in later turns where time runs out.

        Args:
            waiting: operations in one state.
            end: when the time ends, in monotonic seconds.
            others: how many operations share what is left of it.
        """
        if not waiting:
            return 0
        state = waiting[0].state
        begin = next((at for at, one in enumerate(waiting) if one.pk == self._next.get(state)), 0)
        self._next.pop(state, None)
        for number, operation in enumerate([*waiting[begin:], *waiting[:begin]]):
            now_at = self._clock.monotonic()
            if number and now_at >= end:
                self._next[state] = operation.pk
                return number
            parts = len(waiting) - number + others
            self._turn(operation, until=now_at + max(0.0, end - now_at) / parts)
        return len(waiting)

    def _turn(self, operation: Operation, *, until: float) -> None:
        try:
            worker = self._planner if operation.state == State.PLANNING else self._runner
            worker.run_once(operation, until=until)
        except Superseded:
            pass  # the next turn sees what somebody wrote
        except Exception as error:
            if is_away(error):
                raise  # the database does not answer, or is busy: the next turn goes on
            # One that cannot go on must not keep the others from their turns.
            logger.exception("operation %s failed", operation.pk, extra={"action": "operation"})
            self._end(operation, State.FAILED, why=f"{type(error).__name__}: {error}")

    def _end(self, operation: Operation, state: Operation.State, *, why: str) -> None:
        try:
            fresh = Operation.objects.using(self._using).get(pk=operation.pk)
            if fresh.state == operation.state:
                ended(fresh, state, why=why, cursor=Cursor.of(fresh), using=self._using, clock=self._clock)
        except (Superseded, Operation.DoesNotExist):
            pass


def _by_id(operation: Operation) -> int:
    return operation.pk


def _by_start(operation: Operation) -> tuple[datetime, int]:
    return operation.started_at or operation.created_at, operation.pk
