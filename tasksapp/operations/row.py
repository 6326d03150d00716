"""The row of an operation, as maintenance writes it: only if it has not been written since it was read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest

from delayhub.clock import Clock, moment, now_by
from tasksapp.access.actors import Actor
from tasksapp.models import Operation
from tasksapp.operations.cursor import Cursor
from tasksapp.operations.pages import LOOKED_ROWS
from tasksapp.operations.starter import record_deed


class Superseded(Exception):
    """Somebody stopped the operation or gave it another pace since this turn read it. The next turn sees that."""


def saved(operation: Operation, cursor: Cursor, *, using: str, clock: Clock, **columns: Any) -> None:
    """Writes the cursor and the columns, in the transaction that the caller may have open.

    Raises Superseded where the row was written by anybody else since it was read; outcomes that are counted do not
    matter here.
    """
    now = now_by(clock)
    # Never the same moment twice: two turns that read the same row must not both write it.
    now = max(now, operation.updated_at + _TICK)
    rows = Operation.objects.using(using).filter(
        pk=operation.pk, state=operation.state, updated_at=operation.updated_at
    )
    if not rows.update(**columns, cursor=cursor.as_dict(), updated_at=now):
        raise Superseded(f"operation {operation.pk}")
    operation.updated_at = now
    for name, value in columns.items():
        if not hasattr(value, "resolve_expression"):
            setattr(operation, name, value)


def ended(operation: Operation, state: Operation.State, *, why: str, cursor: Cursor, using: str, clock: Clock) -> None:
    """Writes that the operation is done, stopped or failed. Raises Superseded."""
    columns = {
        "state": state,
        "state_reason": why[:500],
        "finished_at": now_by(clock),
        "left": Greatest(Coalesce(F("planned"), Value(0)) - F("done"), 0),
    }
    cursor.waits = {}
    with transaction.atomic(using=using):
        saved(operation, cursor, using=using, clock=clock, **columns)
        after = {"done": operation.done, "planned": operation.planned}
        actor = Actor.of_operation(operation.pk)
        record_deed(operation, f"operation.{state.value}", by=actor, using=using, reason=why[:500], after=after)


class PageSize:
    """How many rows a page looks at and how many jobs it changes, so that it takes no longer than ``LONGEST_SECONDS``.

    The two are learned apart: to write a row takes far longer than to look at it, and most of all where many write.
    """

    LONGEST_SECONDS, SHORT_SECONDS, LEAST = 0.2, 0.05, 500
    #: Jobs that the first page changes, and that any page changes at least and at most.
    FIRST_BATCH, LEAST_BATCH, MOST_BATCH = 250, 20, 1_000

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows = LOOKED_ROWS
        self._seconds = 0.0
        #: How many jobs one transaction changes at most.
        self.batch = self.FIRST_BATCH

    @contextmanager
    def measured(self) -> Iterator[int]:
        """Gives the number of rows, and judges by the time that the block takes."""
        began = self._clock.monotonic()
        yield self._rows
        self._seconds = self._clock.monotonic() - began
        if self._seconds > self.LONGEST_SECONDS:
            self._rows = max(self.LEAST, self._rows // 2)
        elif self._seconds < self.SHORT_SECONDS:
            self._rows = min(LOOKED_ROWS, self._rows * 2)

    def judge_batch(self, changed: int) -> None:
        """Learns how many jobs the next page may change from how many the one that was measured last has changed."""
        if changed and self._seconds > self.LONGEST_SECONDS:
            self.batch = max(self.LEAST_BATCH, int(changed * self.LONGEST_SECONDS / self._seconds))
        elif changed >= self.batch and self._seconds < self.LONGEST_SECONDS / 2:
            self.batch = min(self.MOST_BATCH, self.batch * 2)


_TICK = moment(1) - moment(0)
