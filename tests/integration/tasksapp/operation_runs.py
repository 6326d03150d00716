"""Operations, and the turns that maintenance gives them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from delayhub.clock import Clock, SystemClock
from delayhub.testing import MovableClock
from tasksapp import operations
from tasksapp.access.actors import Actor
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.maintenance.operation_turns import OperationTurns
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations import Starter
from tasksapp.operations.planner import Planner
from tests.job_rows import job_row

ADA = Starter(Actor("ada"))
#: Turns after which an operation of a test is stuck.
MOST_TURNS = 500


def dead_jobs(biz_type: BizType, count: int, **fields: Any) -> list[Job]:
    """So many jobs that died an hour ago."""
    values = {"due_in": timedelta(hours=-1), **fields}
    return Job.objects.bulk_create([job_row(biz_type, Status.DEAD, **values) for _ in range(count)])


def pending_jobs(biz_type: BizType, count: int, **fields: Any) -> list[Job]:
    """So many pending jobs."""
    return Job.objects.bulk_create([job_row(biz_type, **fields) for _ in range(count)])


def turns(clock: Clock | None = None) -> OperationTurns:
    """What gives operations their turns."""
    return OperationTurns(using="default", clock=clock or MovableClock())


def planned(verb: str = "redrive", *, by: Starter = ADA, **wanted: Any) -> Operation:
    """An operation whose jobs are counted; ``due_at`` is its new time, all else its filter. No other gets a turn."""
    due_at = wanted.pop("due_at", None)
    operation = operations.plan(verb, JobFilter(**wanted), by=by, due_at=due_at)
    clock = SystemClock()
    planner = Planner(using="default", clock=clock)
    while operation.state == "planning":
        planner.run_once(operation, until=clock.monotonic() + 5)
        operation.refresh_from_db()
    return operation


def started(verb: str = "redrive", *, by: Starter = ADA, **wanted: Any) -> Operation:
    """An operation that runs from the next turn on; what belongs to its start is taken from ``wanted``."""
    how = {name: wanted.pop(name) for name in _START if name in wanted}
    operation = planned(verb, by=by, **wanted)
    return operations.start(operation.pk, by=by, typed_count=operation.planned, **how)


_START = ("rate_per_second", "spread_seconds", "trial_jobs", "trial_percent")


def until(
    operation: Operation,
    fact: Callable[[Operation], bool],
    *,
    given: OperationTurns,
    between: Callable[[], object] = lambda: None,
) -> Operation:
    """Gives turns until the fact is true of the operation."""
    for _ in range(MOST_TURNS):
        operation.refresh_from_db()
        if fact(operation):
            return operation
        given.run_once()
        between()
    raise AssertionError(f"still {operation.state} after {MOST_TURNS} turns: {operation.cursor}")


def worked_off(operation: Operation, *, clock: MovableClock | None = None) -> Operation:
    """The operation once it has ended; a second passes between its turns."""
    clock = clock or MovableClock()
    return until(
        operation, lambda now: now.finished_at is not None, given=turns(clock), between=lambda: clock.advance(seconds=1)
    )
