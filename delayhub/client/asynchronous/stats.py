"""Numbers, forecasts, issues, and whether jobs are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from delayhub.api_models.stats import Drain, Health, Issue, Issues, Peak, Peaks, Series, Stats
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.request import parameters, read, segment


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

    async def peaks(self, *, biz_type: str | None = None) -> Sequence[Peak]:
        """The times of the next day at which jobs come faster than they can be done."""
        found = await self._connection.one(Peaks, read("/forecast", query=parameters(biz_type=biz_type)))
        return found.peaks

    async def drain(
        self, biz_type: str, *, delivery_rate: float | str | None = None, max_in_flight: int | str | None = None
    ) -> Drain:
        """When the jobs of a biz type that wait are done.

        Args:
            biz_type: its code.
            delivery_rate: what if attempts were limited to so many a second, or (``"none"``) not at all?
            max_in_flight: what if so many could be under way, or (``"none"``) as many as one likes?
        """
        query = parameters(delivery_rate=delivery_rate, max_in_flight=max_in_flight)
        return await self._connection.one(Drain, read(f"/forecast/{segment(biz_type)}", query=query))

    async def issues(self, *, biz_type: str | None = None) -> Sequence[Issue]:
        """The dead jobs, grouped by biz type and kind of error; the latest first."""
        found = await self._connection.one(Issues, read("/issues", query=parameters(biz_type=biz_type)))
        return found.issues

    async def health(self) -> Health:
        """Whether jobs are delivered at this moment, and why not."""
        return await self._connection.one(Health, read("/health"))
