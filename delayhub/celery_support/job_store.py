"""The door between delayed tasks and the app that keeps their jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack

from delayhub.errors import JobStoreMissing

if TYPE_CHECKING:
    import redis  # a tenth of a second, at each start of a project
from delayhub.job_fields import ScheduleOptions


class JobTask(Protocol):
    """What a store needs of a task whose calls are jobs."""

    name: str
    biz_type: str
    job_tenant: str | None
    job_max_attempts: int | None
    aliases: tuple[str, ...]


class ScheduledJob(Protocol):
    """A job that waits for its time."""

    @property
    def id(self) -> Any:
        """The job's id."""

    @property
    def armed(self) -> bool | None:
        """Whether its timer is set, as far as it needs one; None while the caller's transaction is open."""

    def reschedule(self, *, due_at: datetime | None = None, delay: timedelta | None = None) -> None:
        """Moves it to another time."""

    def cancel(self) -> None:
        """Cancels it."""

    async def areschedule(self, *, due_at: datetime | None = None, delay: timedelta | None = None) -> None:
        """Moves it to another time, for asynchronous callers."""

    async def acancel(self) -> None:
        """Cancels it, for asynchronous callers."""


@dataclass(frozen=True, slots=True)
class JobCall:
    """One attempt of a job: the call that its task makes now.

    Args:
        id: the job's id.
        attempt: the number of this attempt, from 1; a redrive begins again.
        max_attempts: how many attempts the job has.
        args: positional arguments.
        kwargs: keyword arguments.
    """

    id: str
    attempt: int
    max_attempts: int
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The task ran, with this result."""

    result: Any


@dataclass(frozen=True, slots=True)
class Again:
    """The task failed and will run again; the store has seen to it."""

    at: datetime
    error: Exception | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The task failed for the last time."""

    error: Exception


@dataclass(frozen=True, slots=True)
class NotRun:
    """The task did not run: its job was cancelled, moved, or is another worker's."""

    reason: str


TaskOutcome = Done | Again | Failed | NotRun


class JobFindings(NamedTuple):
    """What keeps jobs from running, a sentence for each: at all, at this moment; and what an operator should know."""

    faults: Sequence[str] = ()
    delivery_faults: Sequence[str] = ()
    warnings: Sequence[str] = ()


class JobStore(Protocol):
    """Where jobs are kept."""

    def schedule(
        self,
        task: JobTask,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledJob:
        """A new job that calls the task when it is due."""

    async def aschedule(
        self,
        task: JobTask,
        *,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        **options: Unpack[ScheduleOptions],
    ) -> ScheduledJob:
        """The same for asynchronous callers."""

    def run(
        self, job_id: str, call: Callable[[JobCall], Any], *, task_name: str, worker: str, now_ms: int
    ) -> TaskOutcome:
        """Claims the job, lets the task make its call if the store allows that, and stores the outcome.

        Args:
            job_id: the job's id, as the message has it.
            call: runs the task's function.
            task_name: the name of the task that makes the call.
            worker: the name of the worker that runs it.
            now_ms: a time, in Unix ms, at which the job was due by Redis' clock; 0 if unknown.
        """

    def time_limit_exceeded(self, job_id: str, *, worker: str, seconds: float) -> None:
        """Stores that the task ran into its hard time limit, which ended the process that ran it.

        Args:
            job_id: the job's id, as the message has it.
            worker: the name of the worker whose process that was.
            seconds: the time limit.
        """

    def faults(self, client: redis.Redis, *, prefix: str) -> list[str]:
        """What keeps jobs from running on the broker that the client reaches, a sentence for each.

        Args:
            client: a client of the broker's Redis server.
            prefix: what the broker's keys begin with.
        """

    def delivery_faults(self) -> list[str]:
        """What keeps them from running at this moment, a sentence for each: no worker, a server that is away."""

    def warnings(self) -> list[str]:
        """Where what tasks declare is not what is stored, a sentence for each."""


class _Registry:
    store: JobStore | None = None


def register_job_store(store: JobStore) -> None:
    """Makes the store the one that delayed tasks use in this process."""
    _Registry.store = store


def find_job_store() -> JobStore | None:
    """The registered store; None where no app of this process keeps jobs."""
    return _Registry.store


def job_store() -> JobStore:
    """The registered store.

    Raises:
        JobStoreMissing: none is registered.
    """
    if _Registry.store is None:
        raise JobStoreMissing(str(JobStoreMissing.__doc__))
    return _Registry.store
