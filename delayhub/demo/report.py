"""How the demo's jobs ended, compared with how they had to end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from rich.table import Table

from delayhub.client import Job
from delayhub.clock import due_ms
from delayhub.demo.receiver import Received
from delayhub.demo.scenario import Change, PlannedJob

#: Later than that no job fires on a machine that is not busy. On a busy one it may, so more is a warning.
LATEST_MS = 5_000
SUCCESS = 204


@dataclass(frozen=True, slots=True)
class FollowedJob:
    """A job of the demo at the end of the run.

    Args:
        planned: the plan for it.
        id: its id.
        status: its status, by the API.
        attempts: how often it was tried, by the API.
        callbacks: the callbacks that the receiver got for it, oldest first.
    """

    planned: PlannedJob
    id: str
    status: str
    attempts: int
    callbacks: tuple[Received, ...]

    @property
    def delivered(self) -> bool:
        """Whether the API says that it succeeded and the receiver accepted a callback."""
        return self.status == "succeeded" and any(callback.status == SUCCESS for callback in self.callbacks)

    @property
    def lateness_ms(self) -> int | None:
        """How long after its due time the first callback came; negative: early; None: no callback came."""
        return self.callbacks[0].at_ms - due_ms(self.planned.fires_at) if self.callbacks else None

    @property
    def fault(self) -> str | None:
        """What is wrong with it; None if nothing is."""
        planned = self.planned
        if self.status != planned.final_status:
            return f"is {self.status}, must be {planned.final_status}"
        if len(self.callbacks) != planned.attempts or self.attempts != planned.attempts:
            return f"{self.attempts} attempts, {len(self.callbacks)} callbacks, must be {planned.attempts}"
        if self.lateness_ms is not None and self.lateness_ms < 0:
            return f"fired {-self.lateness_ms} ms early"
        return None


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the final table, what it must be, and what it should be at most; None: any number is right."""

    name: str
    value: int
    must_be: int | None = None
    at_most: int | None = None

    @property
    def is_right(self) -> bool:
        """Whether it is as it must be."""
        return self.must_be in (None, self.value)

    @property
    def is_high(self) -> bool:
        """Whether it is more than it should be."""
        return self.at_most is not None and self.value > self.at_most

    @property
    def mark(self) -> str:
        """Right, high or wrong, for people; empty where any number is right."""
        if self.must_be is None and self.at_most is None:
            return ""
        return "[red]✗[/]" if not self.is_right else "[yellow]![/]" if self.is_high else "[green]✓[/]"


@dataclass(frozen=True, slots=True)
class Report:
    """All numbers, and a sentence about each job that is not as it must be."""

    numbers: tuple[Number, ...]
    faults: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether every number is as it must be and no job is at fault."""
        return not self.faults and all(number.is_right for number in self.numbers)

    @property
    def is_late(self) -> bool:
        """Whether jobs fired later than they do on a machine that is not busy."""
        return any(number.is_high for number in self.numbers)

    def table(self) -> Table:
        """The numbers, for people."""
        table = Table(title="How the jobs ended")
        table.add_column("")
        table.add_column("is", justify="right")
        table.add_column("must be", justify="right")
        table.add_column("")
        for number in self.numbers:
            bound = f"≤ {number.at_most}" if number.at_most is not None else ""
            wanted = bound if number.must_be is None else str(number.must_be)
            table.add_row(number.name, str(number.value), wanted, number.mark)
        return table


def follow(
    planned: Mapping[str, PlannedJob], jobs: Mapping[str, Job], received: Iterable[Received]
) -> list[FollowedJob]:
    """Each planned job (by id) with what the API shows of it and its callbacks; leaves out callbacks of other jobs."""
    callbacks: defaultdict[str, list[Received]] = defaultdict(list)
    for callback in received:
        callbacks[callback.job_id].append(callback)
    return [
        FollowedJob(job, id_, jobs[id_].status, jobs[id_].attempts, tuple(callbacks[id_]))
        for id_, job in planned.items()
    ]


def report_on(jobs: Sequence[FollowedJob]) -> Report:
    """The report: the numbers of the final table, what they must be, and the faults."""
    plans = [job.planned for job in jobs]
    lateness = sorted(job.lateness_ms for job in jobs if job.lateness_ms is not None)
    callbacks = [callback for job in jobs for callback in job.callbacks]
    moved = [job for job in jobs if job.planned.moved_to is not None]
    numbers = (
        Number("jobs", len(jobs)),
        Number(
            "delivered", count(job.delivered for job in jobs), count(plan.final_status == "succeeded" for plan in plans)
        ),
        Number("retried", count(len(job.callbacks) > 1 for job in jobs), count(plan.attempts > 1 for plan in plans)),
        Number(
            "dead", count(job.status == "dead" for job in jobs), count(plan.final_status == "dead" for plan in plans)
        ),
        Number(
            "cancelled, never sent",
            count(job.status == "cancelled" and not job.callbacks for job in jobs),
            count(plan.change is Change.CANCEL for plan in plans),
        ),
        Number("moved, delivered", count(job.delivered for job in moved), len(moved)),
        Number("callbacks", len(callbacks), sum(plan.attempts for plan in plans)),
        Number("wrong signatures", count(not callback.verified for callback in callbacks), 0),
        Number("early", count(late < 0 for late in lateness), 0),
        Number("lateness p50, ms", percentile(lateness, 0.5)),
        Number("lateness p99, ms", percentile(lateness, 0.99)),
        Number("lateness max, ms", percentile(lateness, 1), at_most=LATEST_MS),
    )
    faults = tuple(f"{job.planned.biz_type.code} {job.planned.biz_id}: {job.fault}" for job in jobs if job.fault)
    return Report(numbers, faults)


def count(facts: Iterable[bool]) -> int:
    """How many of the facts are true."""
    return sum(facts)


def percentile(ordered: Sequence[int], share: float) -> int:
    """The smallest value that this share of the values does not exceed; 0 if there are no values."""
    return ordered[max(ceil(share * len(ordered)), 1) - 1] if ordered else 0
