"""The verbs of jobs."""

from __future__ import annotations

import builtins
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack
from uuid import UUID

import anyio

from delayhub.api_models.jobs import (
    AnswerLink,
    Attempt,
    BulkAnswer,
    BulkResult,
    CreatedJob,
    DeadJobQuery,
    ExportFormat,
    ExportQuery,
    Job,
    JobQuery,
    Lifted,
    NewAnswerLink,
    Resolution,
)
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.errors import NoRoomToWait, WaitTimeout
from delayhub.client.request import (
    JobKey,
    Request,
    chunks,
    given,
    job_fields,
    new_job_fields,
    parameters,
    path_of,
    read,
    segment,
)
from delayhub.job_fields import JobChange, JobFields, JobRequest

T = TypeVar("T")

#: How long the site is asked to hold an answer back until a job has ended, at most, and how often it is asked at least.
LONG_POLL_SECONDS, POLL_SECONDS = 20.0, 1.0


class AsyncJobs:
    """Jobs. A verb names a job by its id, or by its biz type and biz id: ``("order.close", "order-42")``.

    Every verb raises :class:`delayhub.client.ApiError`; its subclasses say what is wrong.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    # ------------------------------------------------------------ creating

    async def create(self, biz_type: str, **fields: Unpack[JobFields]) -> CreatedJob:
        """Creates a job; gives it, with what its creation did.

        Without an idempotency key of yours the client makes one, so that a request that is repeated because its answer
        was lost makes no second job.

        Args:
            biz_type: the code of its biz type.
            fields: when it is due, and what it carries: those of :class:`delayhub.client.JobFields`.
        """
        body = new_job_fields({"biz_type": biz_type, **fields})
        return await self._connection.one(CreatedJob, Request("POST", "/jobs", body=body, repeatable=True))

    async def create_many(self, jobs: Iterable[JobRequest], *, together: bool = False) -> Sequence[BulkResult]:
        """Create jobs, up to 1 000 with each request. Return a result for each, in their order.

        A refused job does not stop the others: look at ``error`` of each result.

        Args:
            jobs: the jobs.
            together: create all jobs or none, of up to 1 000; the first refusal is raised.
        """
        more = {"together": True} if together else {}
        parts = [[new_job_fields(job) for job in jobs]] if together else chunks(map(new_job_fields, jobs))
        results: builtins.list[BulkResult] = []
        for part in parts:
            request = Request("POST", "/jobs/bulk", body={"jobs": part, **more}, repeatable=True)
            results += (await self._connection.one(BulkAnswer, request)).results
        return results

    async def resolve(
        self, biz_types: Sequence[str], biz_id: str, *, outcome: str = "", body: Any = None, reason: str = ""
    ) -> Resolution:
        """Calls off all jobs of a business key: the order was paid. Nothing fires any more but what it names.

        ``outcome`` and ``body``, any JSON value, answer those jobs of it that wait for an answer.
        """
        answer = given(outcome=outcome or None, body=body)
        return await self._of_key(Resolution, "/resolve", biz_types, biz_id, reason=reason, **answer)

    async def lift(self, biz_types: Sequence[str], biz_id: str, *, reason: str = "") -> int:
        """Takes a resolve back; gives of how many biz types the key was resolved."""
        return (await self._of_key(Lifted, "/resolve/lift", biz_types, biz_id, reason=reason)).lifted

    async def make_link(
        self,
        job: str | UUID,
        *,
        given_to: str,
        outcomes: Sequence[str],
        question: str = "",
        expires_at: datetime | str | None = None,
    ) -> NewAnswerLink:
        """Makes a link by which a person answers a pending job, once; gives it with its address, which is shown now.

        Args:
            job: the job, which waits for an answer.
            given_to: who gets it, for the record.
            outcomes: what may be answered.
            question: what its page asks.
            expires_at: when it ends. None, and at most: when the job is due.
        """
        fields = {"given_to": given_to, "outcomes": [*outcomes], "question": question, "expires_at": expires_at}
        return await self._connection.post(NewAnswerLink, _links(job), **fields)

    async def links(self, job: str | UUID) -> Sequence[AnswerLink]:
        """The answer links of a job, the newest first, without their addresses."""
        return await self._connection.every(AnswerLink, read(_links(job)))

    async def withdraw_link(self, job: str | UUID, link: int) -> None:
        """Ends an answer link that was not used."""
        await self._connection.ask(Request("DELETE", f"{_links(job)}/{link}"))

    # ------------------------------------------------------------ reading

    async def read(self, job: JobKey) -> Job:
        """The job; of several with that business key, the newest."""
        return await self._connection.one(Job, read(path_of(job)))

    async def wait(self, job: JobKey, *, timeout_seconds: float | None = None) -> Job:
        """The job, once it has ended. Also raises WaitTimeout."""
        found = await self.read(job)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not found.has_ended:
            left = LONG_POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeout(f"job {found.id} is {found.status} after {timeout_seconds} seconds")
            asked_at, before = time.monotonic(), found
            found = await self._held_back(found.id, seconds=min(left, LONG_POLL_SECONDS))
            if found == before:
                # A site that did not hold the answer back is not asked more often than this.
                await anyio.sleep(max(0.0, min(left, POLL_SECONDS) - (time.monotonic() - asked_at)))
        return found

    def attempts(
        self, job: str | UUID, *, after: int | None = None, page_size: int | None = None
    ) -> AsyncIterator[Attempt]:
        """The attempts to deliver the job, the oldest first. Pages are fetched as they are needed.

        Args:
            job: the job.
            after: the number of the attempt behind which they begin; None for all.
            page_size: how many one request brings.
        """
        path = f"/jobs/{segment(str(job))}/attempts"
        return self._connection.pages(Attempt, path, query=parameters(cursor=after or None, limit=page_size))

    def list(self, *, page_size: int | None = None, **query: Unpack[JobQuery]) -> AsyncIterator[Job]:
        """The jobs that the query names, the newest first. Pages are fetched as they are needed."""
        return self._connection.pages(Job, "/jobs", query=parameters(**query, limit=page_size))

    def dead(self, *, page_size: int | None = None, **query: Unpack[DeadJobQuery]) -> AsyncIterator[Job]:
        """The dead jobs that the query names, those that died last first."""
        return self._connection.pages(Job, "/jobs/dead", query=parameters(**query, limit=page_size))

    def export(self, kind: ExportFormat = "ndjson", **query: Unpack[ExportQuery]) -> AsyncIterator[bytes]:
        """All jobs that the query names as a file, part by part: lines of JSON, or CSV.

        It takes the scope ``jobs:export``, and the site records it. Raises Unreachable where the file breaks off.
        """
        return self._connection.parts(read("/jobs/export", query=parameters(**query, format=kind)))

    # ------------------------------------------------------------ changing

    async def change(self, job: JobKey, *, version: int | None = None, **fields: Unpack[JobChange]) -> Job:
        """Changes the fields of a pending job that are given, such as its time; gives the changed job.

        Args:
            job: the job.
            version: the version that you saw; where the job has another, nothing changes: PreconditionFailed.
            fields: the fields.
        """
        body = {**job_fields(fields), **given(version=version)}
        return await self._connection.one(Job, Request("PATCH", path_of(job), body=body))

    async def cancel(self, job: JobKey, *, version: int | None = None) -> Job:
        """Calls a pending job off: once this has given the job, nothing is sent."""
        return await self._act(job, "cancel", version=version)

    async def run_now(self, job: JobKey, *, version: int | None = None) -> Job:
        """Makes a pending job due at once. If its biz type is paused, the job still waits."""
        return await self._act(job, "run", version=version)

    async def run_again(self, job: str | UUID, *, version: int | None = None) -> Job:
        """Makes a new job, due at once, with what one carries that has succeeded; gives the new one."""
        return await self._act(job, "run-again", version=version)

    async def follow_up(self, job: str | UUID, *, version: int | None = None) -> Job:
        """Makes what was to follow from an ended job and could not be made; gives that new job."""
        return await self._act(job, "follow-up", version=version)

    async def redrive(self, job: JobKey, *, version: int | None = None, lift: bool | None = None) -> Job:
        """Tries a dead job again, with a new budget of attempts; ``lift`` takes back the resolve of its key."""
        request = Request("POST", f"{path_of(job)}/redrive", body=given(version=version, lift=lift))
        return await self._connection.one(Job, request)

    async def drop(self, job: JobKey, *, version: int | None = None) -> Job:
        """Drops a dead job for good."""
        return await self._act(job, "drop", version=version)

    async def _act(self, job: JobKey, verb: str, *, version: int | None) -> Job:
        request = Request("POST", f"{path_of(job)}/{verb}", body=given(version=version))
        return await self._connection.one(Job, request)

    async def _of_key(
        self, answer: type[T], path: str, biz_types: Sequence[str], biz_id: str, *, reason: str, **fields: Any
    ) -> T:
        body = {"biz_types": [*biz_types], "biz_id": biz_id, **given(reason=reason or None), **fields}
        return await self._connection.one(answer, Request("POST", path, body=body, repeatable=True))

    async def _held_back(self, job_id: str, *, seconds: float) -> Job:
        """The job when it has ended, or after so long."""
        # The answer must come before the connection gives up.
        longest = int(min(seconds, self._connection.timeout_seconds / 2))
        try:
            return await self._connection.one(Job, read(path_of(job_id), query=parameters(wait=longest or None)))
        except NoRoomToWait:
            return await self.read(job_id)


def _links(job: str | UUID) -> str:
    return f"/jobs/{segment(str(job))}/links"
