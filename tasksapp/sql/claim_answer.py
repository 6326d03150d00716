"""ClaimAnswer: what became of each id of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from tasksapp.models import Transition


class Left(StrEnum):
    """Why a claim left a row as it is, apart from the rules of abilities. The first that holds counts."""

    GONE = "gone"
    NOT_DUE = "not due"
    SHUT = "shut"
    LOCKED = "locked"


class ClaimedJob(NamedTuple):
    """What a delivery needs of a claimed row. The claim selects these columns by their names.

    ``max_attempts`` is the biz type's where the job has none of its own; ``biz_type_revision`` says which state of
    the biz type the claim went by. ``turn`` grows with each job of an ordered flow key that is taken; 0 where there is
    no order.
    """

    id: UUID
    biz_type_id: int
    biz_type_revision: int
    biz_id: str
    body: str
    due_at: datetime
    next_run_at: datetime
    redriven_at: datetime | None
    priority: int
    attempts: int
    attempt_base: int
    redrives: int
    system_errors: int
    max_attempts: int
    traceparent: str
    error_class: str
    lease_until: datetime
    series_id: int | None = None
    occurrence_at: datetime | None = None
    expires_at: datetime | None = None
    flow_key: str = ""
    request: str = ""
    raw: bytes | None = None
    place: int | None = None
    turn: int = 0


#: Columns of a row that its outcome needs: no body, and nothing of its biz type.
OF_OUTCOMES = tuple(name for name in ClaimedJob._fields if name not in {"body", "raw", "biz_type_revision", "turn"})


@dataclass(slots=True)
class ClaimAnswer:
    """What became of each id of a claim.

    Args:
        token: what every outcome of the claimed rows has to bring.
        claimed: ours now, in the order of the ids.
        forwarded: their biz type runs a Celery task, whose own worker claims them; not forwarded again for a while.
        not_due: id and the time the row says; also those whose timers were in the wrong lane: pullers claim them, or a
            worker does; and a later time where its series has yet to say what an outage made late.
        shut: pending and due, but their biz type is paused or disabled.
        locked: another transaction holds the row at this moment.
        ended: too old or too late, or its series has a live one: skipped or dead by this claim.
        died: of those that are dead, the biz type's id and the kind of error.
        left: by the name of its rule, rows that a rule left and that are decided apart.
        blocked: rows that wait for other jobs; the ability that left them sets their timers.
        gone: not pending any more, under way to another worker, or no such row.
    """

    token: int
    claimed: list[ClaimedJob] = field(default_factory=list)
    forwarded: list[ClaimedJob] = field(default_factory=list)
    not_due: list[tuple[UUID, datetime]] = field(default_factory=list)
    shut: list[UUID] = field(default_factory=list)
    locked: list[UUID] = field(default_factory=list)
    ended: list[UUID] = field(default_factory=list)
    died: list[tuple[int, str]] = field(default_factory=list)
    gone: list[UUID] = field(default_factory=list)
    blocked: list[UUID] = field(default_factory=list)
    left: dict[str, list[UUID]] = field(default_factory=dict)

    def add(self, other: ClaimAnswer) -> None:
        """Add what became of other ids, claimed with the same token."""
        for part in fields(self):
            if part.name not in {"token", "left"}:
                getattr(self, part.name).extend(getattr(other, part.name))
        for name, ids in other.left.items():
            self.left.setdefault(name, []).extend(ids)

    def add_taken(self, job: ClaimedJob, *, status: str) -> None:
        """Notes a row that the claim changed, by the status it has now."""
        if status == Transition.CLAIM.target:
            self.claimed.append(job)
        elif status == Transition.CLAIM.source:
            self.forwarded.append(job)
        else:
            self.ended.append(job.id)
            if status == Transition.EXPIRE.target:
                self.died.append((job.biz_type_id, job.error_class))

    def add_left(self, job_id: UUID, left: str, *, next_run_at: datetime) -> None:
        """Note a row that the claim left as it was, by the reason for that: a member of Left, or the name of a rule."""
        match left:
            case Left.NOT_DUE:
                self.not_due.append((job_id, next_run_at))
            case Left.GONE:
                self.gone.append(job_id)
            case Left.SHUT:
                self.shut.append(job_id)
            case Left.LOCKED:
                self.locked.append(job_id)
            case _:
                self.left.setdefault(left, []).append(job_id)

    def keep_order(self, ids: Sequence[UUID]) -> None:
        """Puts what is ours into the order of the ids, that of their timers: the most urgent one runs first."""
        places = {job_id: place for place, job_id in enumerate(ids)}
        self.claimed.sort(key=lambda job: places[job.id])
        self.forwarded.sort(key=lambda job: places[job.id])

    def add_missing(self, ids: Iterable[UUID]) -> None:
        """Notes as gone those of the ids of which nothing is known."""
        known = {job.id for job in (*self.claimed, *self.forwarded)}
        known.update((job_id for job_id, _ in self.not_due), self.shut, self.locked, self.ended, self.gone)
        known.update(self.blocked)
        self.gone += [job_id for job_id in ids if job_id not in known]
