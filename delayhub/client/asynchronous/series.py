"""The verbs of series: jobs that repeat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Unpack

from delayhub.api_models.operations import Operation
from delayhub.api_models.series import (
    JobSeries,
    JobSeriesFields,
    ScheduleFields,
    SchedulePreview,
    SeriesQuery,
    Triggered,
)
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.request import Request, given, job_fields, parameters, plain, read


class AsyncSeries:
    """Series. Reading takes the scope ``jobs:read``, all else ``jobs:write``.

    Every verb raises :class:`delayhub.client.ApiError`.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(self, biz_type: str, **fields: Unpack[JobSeriesFields]) -> JobSeries:
        """A new series. It needs a name, and one of ``cron``, ``every`` and ``times``."""
        body = {"biz_type": biz_type, **job_fields(fields)}
        return await self._connection.one(JobSeries, Request("POST", "/series", body=body))

    async def read(self, series: int) -> JobSeries:
        """The series with that number."""
        return await self._connection.one(JobSeries, read(_path(series)))

    def list(self, *, page_size: int | None = None, **query: Unpack[SeriesQuery]) -> AsyncIterator[JobSeries]:
        """The series that the query names, the newest first."""
        return self._connection.pages(JobSeries, "/series", query=parameters(**query, limit=page_size))

    async def change(self, series: int, *, version: int | None = None, **fields: Unpack[JobSeriesFields]) -> JobSeries:
        """Changes the fields that are given; jobs to come that no worker has taken follow.

        Args:
            series: its number.
            version: the version that you saw; where the series has another, nothing changes: PreconditionFailed.
            fields: the fields.
        """
        body = {**job_fields(fields), **given(version=version)}
        return await self._connection.one(JobSeries, Request("PATCH", _path(series), body=body))

    async def pause(self, series: int, *, reason: str | None = None) -> JobSeries:
        """Holds it until somebody resumes it."""
        return await self._connection.post(JobSeries, f"{_path(series)}/pause", reason=reason)

    async def resume(self, series: int, *, reason: str | None = None) -> JobSeries:
        """Lets it go on with its next occurrence."""
        return await self._connection.post(JobSeries, f"{_path(series)}/resume", reason=reason)

    async def trigger(self, series: int, *, reason: str | None = None) -> str:
        """The id of a job of it that is due now, beside its occurrences."""
        return (await self._connection.post(Triggered, f"{_path(series)}/trigger", reason=reason)).job_id

    async def backfill(
        self,
        series: int,
        *,
        since: datetime | str,
        until: datetime | str | None = None,
        reason: str | None = None,
    ) -> Operation:
        """Counts its occurrences of a time in the past that have no job. It takes the scope ``jobs:act``.

        ``operations.start`` has them made; nothing is made before.

        Args:
            series: its number.
            since: the first one may be then.
            until: the last one comes before. None: now, which is the latest.
            reason: why.
        """
        path = f"{_path(series)}/backfill"
        return await self._connection.post(Operation, path, since=since, until=until, reason=reason)

    async def preview(self, *, most: int | None = None, **fields: Unpack[ScheduleFields]) -> SchedulePreview:
        """What a schedule means, and its next moments; nothing is stored."""
        body = {**plain(fields), **given(most=most)}
        return await self._connection.one(SchedulePreview, Request("POST", "/series/preview", body=body))

    async def delete(self, series: int) -> None:
        """Deletes it, and those of its jobs that no worker has taken."""
        await self._connection.ask(Request("DELETE", _path(series)))


def _path(series: int) -> str:
    return f"/series/{series}"
