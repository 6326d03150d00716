"""Numbers, issues, and whether jobs are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from delayhub.api_models.stats import Health, Issue, Issues, Series, Stats
from delayhub.client.request import parameters, read
from delayhub.client.synchronous.connection import Connection


class Statistics:
    """Numbers, which take the scope ``stats``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, *, biz_type: str | None = None) -> Stats:
        """How many jobs wait, run and are dead, how the last five minutes were, and how much of its quotas is used."""
        return self._connection.one(Stats, read("/stats", query=parameters(biz_type=biz_type)))

    def series(
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
        return self._connection.one(Series, read("/stats/series", query=query))

    def issues(self, *, biz_type: str | None = None) -> Sequence[Issue]:
        """The dead jobs, grouped by biz type and kind of error; the latest first."""
        found = self._connection.one(Issues, read("/issues", query=parameters(biz_type=biz_type)))
        return found.issues

    def health(self) -> Health:
        """Whether jobs are delivered at this moment, and why not."""
        return self._connection.one(Health, read("/health"))
