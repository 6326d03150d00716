"""The asynchronous client."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from delayhub.client.asynchronous.audit import AsyncAudit
from delayhub.client.asynchronous.biz_types import AsyncBizTypes
from delayhub.client.asynchronous.claims import AsyncClaims
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.asynchronous.jobs import AsyncJobs
from delayhub.client.asynchronous.keys import AsyncKeys
from delayhub.client.asynchronous.operations import AsyncOperations
from delayhub.client.asynchronous.series import AsyncSeries
from delayhub.client.asynchronous.stats import AsyncStatistics
from delayhub.client.options import ClientOptions


class AsyncClient:
    """A client of a site's REST API. Close it by ``aclose()``, or use it in an ``async with`` block.

    Args:
        url: the site's address (its API is at ``/api/v1``), or that of an API elsewhere, which ends with ``/v1``. By
            default the environment variable ``DELAYHUB_URL``.
        api_key: by default ``DELAYHUB_API_KEY``.
        timeout_seconds: how long one request may take to connect, and to wait for each piece of its answer.
        retries: how often a request is repeated, where that is safe.
        most_wait_seconds: the longest pause before a repetition that the site may ask for.
        connections: how many connections are open at once, at most.
        transport: an httpx transport in place of the network, for tests.

    Raises:
        NotConfigured: there is no address or no key.
        OptionError: a value cannot be.
    """

    jobs: AsyncJobs
    claims: AsyncClaims
    biz_types: AsyncBizTypes
    operations: AsyncOperations
    keys: AsyncKeys
    series: AsyncSeries
    stats: AsyncStatistics
    audit: AsyncAudit

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        retries: int = 3,
        most_wait_seconds: float = 60.0,
        connections: int = 20,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        options = ClientOptions(
            url,
            api_key=api_key,
            timeout_seconds=timeout_seconds,
            retries=retries,
            most_wait_seconds=most_wait_seconds,
            connections=connections,
        )
        #: The address of the API.
        self.url: str = options.base_url
        self._connection = AsyncConnection(options, transport=transport)
        self.jobs = AsyncJobs(self._connection)
        self.claims = AsyncClaims(self._connection)
        self.biz_types = AsyncBizTypes(self._connection)
        self.operations = AsyncOperations(self._connection)
        self.keys = AsyncKeys(self._connection)
        self.series = AsyncSeries(self._connection)
        self.stats = AsyncStatistics(self._connection)
        self.audit = AsyncAudit(self._connection)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.aclose()
