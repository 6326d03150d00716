"""The plan of the demo: which jobs it creates, how it changes them, and how each must end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from delayhub.demo.samples import CLOSE_ORDER, PUSH_INVOICE, SEND_REMINDER, SampleBizType

FIRST_DUE = timedelta(seconds=2)
CREATED_PER_SECOND = 200
SHORT_MOVE = timedelta(seconds=1)
LONG_WAIT = timedelta(hours=2)


class Change(StrEnum):
    """How a job is changed after it was created."""

    NONE = "unchanged"
    CANCEL = "cancelled"
    PUT_OFF = "moved later"
    BRING_FORWARD = "moved earlier"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedJob:
    """A job of the demo.

    Args:
        biz_type: its kind.
        biz_id: its business key, which no other run uses.
        due_at: the due time it is created with.
        change: how it is changed then.
        moved_to: its new due time, where it is moved.
    """

    biz_type: SampleBizType
    biz_id: str
    due_at: datetime
    change: Change = Change.NONE
    moved_to: datetime | None = None

    @property
    def fires_at(self) -> datetime:
        """When its first attempt is due."""
        return self.moved_to or self.due_at

    @property
    def final_status(self) -> str:
        """The status in which it must end."""
        if self.change is Change.CANCEL:
            return "cancelled"
        return "succeeded" if self.biz_type.succeeds else "dead"

    @property
    def attempts(self) -> int:
        """How many callbacks it takes."""
        return 0 if self.change is Change.CANCEL else self.biz_type.attempts


def plan(*, jobs: int, seconds: float, now: datetime, run: str) -> list[PlannedJob]:
    """The jobs of one run, due evenly over ``seconds``: six in ten orders, three reminders, one invoice.

    Of the orders every sixth is cancelled, every sixth put off, every sixth brought forward from two hours away.
    """
    # The more jobs there are, the later the first is due: a job that is created after its due time fires late.
    first = now + FIRST_DUE + timedelta(seconds=jobs / CREATED_PER_SECOND)
    return list(_planned(jobs, first=first, spread=timedelta(seconds=seconds), run=run))


def _planned(jobs: int, *, first: datetime, spread: timedelta, run: str) -> Iterator[PlannedJob]:
    orders = 0
    for number in range(jobs):
        due_at = first + spread * number / jobs
        match number % 10:
            case 9:
                yield PlannedJob(biz_type=PUSH_INVOICE, biz_id=f"{run}-invoice-{number}", due_at=due_at)
            case 2 | 5 | 8:
                yield PlannedJob(biz_type=SEND_REMINDER, biz_id=f"{run}-reminder-{number}", due_at=due_at)
            case _:
                yield _order(orders, due_at, biz_id=f"{run}-order-{number}", end=first + spread)
                orders += 1


def _order(number: int, due_at: datetime, *, biz_id: str, end: datetime) -> PlannedJob:
    match number % 6:
        case 1:
            return PlannedJob(biz_type=CLOSE_ORDER, biz_id=biz_id, due_at=end, change=Change.CANCEL)
        case 3:
            change, before, after = Change.PUT_OFF, end - SHORT_MOVE, end
        case 5:
            change, before, after = Change.BRING_FORWARD, due_at + LONG_WAIT, due_at
        case _:
            return PlannedJob(biz_type=CLOSE_ORDER, biz_id=biz_id, due_at=due_at)
    return PlannedJob(biz_type=CLOSE_ORDER, biz_id=biz_id, due_at=before, change=change, moved_to=after)
