"""Jobs, their attempts, and what became of those of a bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypedDict
from uuid import UUID

from delayhub.api_models.problems import FieldError
from delayhub.job_fields import Carries

JobStatus = Literal["pending", "running", "succeeded", "dead", "cancelled", "skipped", "dropped"]
JobOrder = Literal["-id", "next_run_at", "-finished_at", "finished_at"]
#: The statuses in which a job has ended. A dead one may be redriven.
ENDED = frozenset({"succeeded", "dead", "cancelled", "skipped", "dropped"})


ExportFormat = Literal["ndjson", "csv"]


class SelectedJobs(TypedDict, total=False):
    """Which jobs: those for which everything holds that is given."""

    biz_type: str | None
    #: The whole biz id, or the beginning of it and ``*``.
    biz_id: str | None
    #: The whole flow key.
    flow_key: str | None
    #: Such as ``http.503`` or ``timeout``.
    error_class: str | None
    ids: Sequence[str] | None
    due_from: datetime | str | None
    #: Not part of the range itself, as with the other ends.
    due_until: datetime | str | None
    next_from: datetime | str | None
    next_until: datetime | str | None
    ended_from: datetime | str | None
    ended_until: datetime | str | None
    #: The operation that changed them last.
    operation: int | None
    #: The series that they are of, and which of its occurrences.
    series: int | None
    occurrence_from: datetime | str | None
    occurrence_until: datetime | str | None


class DeadJobQuery(SelectedJobs, total=False):
    """Which dead jobs: those for which everything holds that is given."""

    #: A text that the body holds, letter by letter. It takes a biz type, and looks at a limited number of bodies.
    body: str | None
    created_from: datetime | str | None
    created_until: datetime | str | None


class JobQuery(DeadJobQuery, total=False):
    """Which jobs: those for which everything holds that is given."""

    status: JobStatus | Sequence[JobStatus] | None
    #: ``-id``: the newest first. ``next_run_at`` is for pending jobs, ``finished_at`` for finished ones.
    order: JobOrder | None


class ExportQuery(SelectedJobs, total=False):
    """Which jobs an export has: those for which everything holds that is given."""

    created_from: datetime | str | None
    created_until: datetime | str | None
    status: JobStatus | Sequence[JobStatus] | None
    order: JobOrder | None


@dataclass(frozen=True, kw_only=True)
class Job(Carries):
    """A job, as it was when the site answered."""

    id: Annotated[str, UUID]
    biz_type: str
    debounce_key: Annotated[str, "Held until a worker first takes the job."]
    status: JobStatus
    due_at: Annotated[datetime, "What the caller asked for."]
    next_run_at: Annotated[datetime, "What the clock follows: the due time, or the next retry."]
    expires_at: Annotated[datetime | None, "No attempt begins from then on, unless it is redriven."]
    priority: int
    attempts: Annotated[int, "All attempts ever made."]
    redrives: Annotated[int, "How often it was redriven."]
    system_errors: Annotated[int, "Failures on the site's side; they use no attempts."]
    version: Annotated[int, "Grows with every change, also by a worker."]
    last_error: str
    series: Annotated[int | None, "The number of the series that it is one of. None: of none."]
    occurrence_at: Annotated[datetime | None, "Which of its series. None: of none, or triggered by hand."]
    place: Annotated[int | None, "Its place among the jobs of its flow key. None: they are in no order."]
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.status in ENDED


@dataclass(frozen=True, kw_only=True)
class CreatedJob(Job):
    """A job that was asked for."""

    created: Annotated[bool, "False: an earlier request made it."]
    replaced: Annotated[bool, "It waited under the debounce key, and has this content now."]
    armed: Annotated[bool | None, "Whether its timer is set; if not, it will be soon."]
    past_due: Annotated[bool, "Its time had passed already: it fires at once."]


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What became of a resolve."""

    biz_id: str
    biz_types: Sequence[str]
    accepted: Annotated[bool, "Nothing fires any more but what `running` names."]
    cancelled: Annotated[Sequence[str], UUID, "Jobs that were pending, as far as they are cancelled."]
    running: Annotated[
        Sequence[str] | None,
        UUID,
        "Jobs whose attempt had begun; none of them is tried again. None unless it is accepted.",
    ]
    answered: Annotated[str | None, UUID, "The job that the answer was for. None: there is none yet."] = None
    status: Annotated[str, "How that job stands."] = ""
    too_late: Annotated[bool, "That job runs, or had ended otherwise. If its attempt fails, the answer counts."] = False
    detail: Annotated[str, "What to do where it is not accepted; else empty."] = ""


@dataclass(frozen=True, kw_only=True)
class Lifted:
    """What became of a lift."""

    lifted: Annotated[int, "Of how many biz types the key was resolved."]


@dataclass(frozen=True, kw_only=True)
class AnswerLink:
    """A link by which a person answers a job, once. Its address is shown when it is made, and at no other time."""

    id: int
    given_to: Annotated[str, "Who got it, for the record."]
    question: Annotated[str, "What its page asks."]
    outcomes: Annotated[Sequence[str], "What may be answered."]
    expires_at: Annotated[datetime, "It ends earlier where the job is moved to an earlier time."]
    used_at: Annotated[datetime | None, "When it was answered by. None: not yet."]
    created_at: datetime
    created_by: str


@dataclass(frozen=True, kw_only=True)
class NewAnswerLink(AnswerLink):
    """A link, with its address."""

    url: Annotated[str, "The address to send. It is not stored, and no other answer has it."]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt to deliver a job."""

    number: int
    started_at: datetime
    duration_ms: int
    lateness_ms: Annotated[int, "How long after its time it began."]
    request_line: Annotated[str, "As sent; empty for a task, where nothing was sent or KEPT_EXCHANGES keeps none."] = ""
    request_headers: Annotated[Mapping[str, str], "As sent, secrets masked."] = field(default_factory=dict)
    status_code: Annotated[int | None, "None: no answer came, or the job runs a task."]
    response_headers: Mapping[str, str]
    response_body: str
    error: str
    worker: str


@dataclass(frozen=True, kw_only=True)
class BulkProblem:
    """Why a job of a bulk was refused."""

    type: str
    title: str
    status: int
    detail: str
    errors: Sequence[FieldError]
    retry_after: Annotated[int | None, "Seconds to wait before the job is sent again."] = None


@dataclass(frozen=True, kw_only=True)
class BulkResult:
    """What became of one job of a bulk: its id and how it was created, or why it was refused."""

    id: str | None = None
    created: bool = False
    replaced: bool = False
    past_due: bool = False
    error: BulkProblem | None = None


@dataclass(frozen=True, kw_only=True)
class BulkAnswer:
    """What became of the jobs of a bulk, in their order."""

    created: int
    refused: int
    results: Annotated[Sequence[BulkResult], "In order: a job's id and how it was created, or `error`."]
