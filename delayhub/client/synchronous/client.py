"""The synchronous client."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from delayhub.client.options import ClientOptions
from delayhub.client.synchronous.audit import Audit
from delayhub.client.synchronous.biz_types import BizTypes
from delayhub.client.synchronous.claims import Claims
from delayhub.client.synchronous.connection import Connection
from delayhub.client.synchronous.jobs import Jobs
from delayhub.client.synchronous.keys import Keys
from delayhub.client.synchronous.operations import Operations
from delayhub.client.synchronous.series import Series
from delayhub.client.synchronous.stats import Statistics


class Client:
    """A client of a site's REST API. Close it by ``close()``, or use it in an ``with`` block.

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

    jobs: Jobs
    claims: Claims
    biz_types: BizTypes
    operations: Operations
    keys: Keys
    series: Series
    stats: Statistics
    audit: Audit

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        retries: int = 3,
        most_wait_seconds: float = 60.0,
        connections: int = 20,
        transport: httpx.BaseTransport | None = None,
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
        self._connection = Connection(options, transport=transport)
        self.jobs = Jobs(self._connection)
        self.claims = Claims(self._connection)
        self.biz_types = BizTypes(self._connection)
        self.operations = Operations(self._connection)
        self.keys = Keys(self._connection)
        self.series = Series(self._connection)
        self.stats = Statistics(self._connection)
        self.audit = Audit(self._connection)

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()
