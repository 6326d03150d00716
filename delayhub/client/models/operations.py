"""Operations: one verb for all jobs that match a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from delayhub.client.models.jobs import SelectedJobs

OperationVerb = Literal["redrive", "run_now", "reschedule", "cancel", "drop", "backfill"]
OperationState = Literal["planning", "planned", "running", "done", "stopped", "failed"]
#: The states in which an operation changes no more jobs.
OPERATION_ENDED = frozenset({"done", "failed", "stopped"})


class JobFilter(SelectedJobs, total=False):
    """Jobs for which everything holds that is given."""

    status: str | None


class OperationQuery(TypedDict, total=False):
    """Which operations: those for which everything holds that is given."""

    state: OperationState | Sequence[OperationState] | None
    verb: OperationVerb | None
    biz_type: str | None


class OperationStart(TypedDict, total=False):
    """How fast an operation goes, and with which trial."""

    #: Jobs a second.
    rate_per_second: float | None
    #: So many go first.
    trial_jobs: int | None
    #: The others go if so many of a hundred of the first succeed.
    trial_percent: int | None
    #: Why, for the audit.
    reason: str | None
    #: The number of jobs that it will change (``planned``), to cancel or drop more than 1 000.
    typed_count: int | None


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A verb for all jobs that match a filter, and how far it has come."""

    id: int
    verb: OperationVerb
    filter: Mapping[str, Any]
    #: None: jobs of any.
    biz_type: str | None
    #: The new time, of jobs that are rescheduled.
    due_at: datetime | None
    reason: str
    #: Its pace. None: as fast as possible.
    rate_per_second: float | None
    #: So many go first; 0: no trial.
    trial_jobs: int
    trial_percent: int
    state: OperationState
    #: Why it stopped or failed.
    state_reason: str
    #: Jobs that matched when it was planned.
    planned: int | None
    #: Jobs that it changed.
    done: int
    #: Jobs that it has still to look at.
    waiting: int
    #: Jobs that it left as they were, once it has ended.
    left: int
    #: Of the changed jobs: those that succeeded since.
    succeeded: int
    #: Attempts of the changed jobs that failed since.
    failed: int
    #: Of the changed jobs: those that died since.
    dead: int
    #: Jobs that it changed a second, lately.
    per_second: float | None
    finishes_at: datetime | None
    trial: Literal["running", "passed", "failed"] | None
    #: What happens now, or why nothing does.
    sentence: str
    started_by: str
    created_at: datetime
    planned_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """Whether it changes no more jobs."""
        return self.state in OPERATION_ENDED
