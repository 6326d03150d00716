"""Operations: one verb for all jobs that match a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

from delayhub.api_models.jobs import SelectedJobs

OperationVerb = Literal["redrive", "run_now", "reschedule", "cancel", "drop", "backfill"]
OperationState = Literal["planning", "planned", "running", "done", "stopped", "failed"]
TrialState = Literal["running", "passed", "failed"]
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
    filter: Annotated[Mapping[str, Any], "Which jobs."]
    biz_type: Annotated[str | None, "None: jobs of any."]
    due_at: Annotated[datetime | None, "The new time, of jobs that are rescheduled."]
    reason: str
    rate_per_second: Annotated[float | None, "Its pace. None: as fast as possible."]
    trial_jobs: Annotated[int, "So many go first; 0: no trial."]
    trial_percent: int
    state: OperationState
    state_reason: Annotated[str, "Why it stopped or failed."]
    planned: Annotated[int | None, "Jobs that matched when it was planned."]
    done: Annotated[int, "Jobs that it changed."]
    waiting: Annotated[int, "Jobs that it has still to look at."]
    left: Annotated[int, "Jobs that it left alone, once it has ended."]
    succeeded: Annotated[int, "Of the changed jobs: those that succeeded since."]
    failed: Annotated[int, "Attempts of the changed jobs that failed since."]
    dead: Annotated[int, "Of the changed jobs: those that died since."]
    per_second: Annotated[float | None, "Jobs that it changed a second, lately."]
    finishes_at: Annotated[datetime | None, "When it will be done at this pace."]
    trial: TrialState | None
    sentence: Annotated[str, "What happens now, or why nothing does."]
    started_by: Annotated[str, "Who planned it, later who started it."]
    created_at: datetime
    planned_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """Whether it changes no more jobs."""
        return self.state in OPERATION_ENDED
