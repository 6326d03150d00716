"""Numbers, issues, and whether jobs are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from delayhub.api_models.stats import Health, Issue, Issues, Series, Stats
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.request import parameters, read


class AsyncStatistics:
    """Numbers, which take the scope ``stats``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def read(self, *, biz_type: str | None = None) -> Stats:
        """How many jobs wait, run and are dead, how the last five minutes were, and how much of its quotas is used."""
        return await self._connection.one(Stats, read("/stats", query=parameters(biz_type=biz_type)))

    async def series(
        self,
        *,
        biz_type: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        step: timedelta | None = None,
    ) -> Series:
        """What came of attempts, step by step; of the last hour, where no times are given."""
        seconds = None if step is None else int(step.total_seconds())
        query = parameters(biz_type=biz_type, since=since, until=until, step_seconds=seconds)
        return await self._connection.one(Series, read("/stats/series", query=query))

    async def issues(self, *, biz_type: str | None = None) -> Sequence[Issue]:
        """The dead jobs, grouped by biz type and kind of error; the latest first."""
        found = await self._connection.one(Issues, read("/issues", query=parameters(biz_type=biz_type)))
        return found.issues

    async def health(self) -> Health:
        """Whether jobs are delivered at this moment, and why not."""
        return await self._connection.one(Health, read("/health"))
