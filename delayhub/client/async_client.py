"""A small asynchronous client of the REST API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp

from delayhub.errors import DelayHubError

#: Where the ready-made project has its API.
API_PATH = "/api/v1"
CONNECTIONS = 8
PAGE = 1000
TIMEOUT_SECONDS = 30


class Refusal(DelayHubError):
    """The API refused a request; the message has the request and the answer."""

    def __init__(self, request: str, status: int, answer: str) -> None:
        self.status = status
        super().__init__(f"{request} was answered {status}: {answer}")


class Unreachable(DelayHubError):
    """The API did not answer; the message has the request and what went wrong."""


class ApiClient:
    """The API of a site, for as long as the ``async with`` block lasts.

    Args:
        url: where the site is, without the path of the API.
        key: the API key.
        path: where the site has its API.
    """

    def __init__(self, url: str, *, key: str, path: str = API_PATH) -> None:
        self._base = url + path
        self._key = key

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._key}"},
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def create(self, job: dict[str, Any]) -> dict[str, Any]:
        """The job that was created."""
        return dict(await self._ask("POST", "/jobs", job))

    async def create_many(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The jobs that were created, in order; Refusal where one of them was refused."""
        results = (await self._ask("POST", "/jobs/bulk", {"jobs": list(jobs)}))["results"]
        for result in results:
            if "error" in result:
                raise Refusal("POST /jobs/bulk", result["error"]["status"], result["error"]["detail"])
        return list(results)

    async def move(self, job_id: str, *, due_at: str) -> dict[str, Any]:
        """The job at its new time."""
        return dict(await self._ask("PATCH", f"/jobs/{job_id}", {"due_at": due_at}))

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """The cancelled job."""
        return dict(await self._ask("POST", f"/jobs/{job_id}/cancel"))

    async def biz_types(self) -> list[dict[str, Any]]:
        """Every biz type."""
        return list(await self._ask("GET", "/biz-types"))

    async def newest(self) -> AsyncIterator[dict[str, Any]]:
        """Every job, newest first, a page at a time as they are asked for."""
        next_page = f"{self._base}/jobs?limit={PAGE}"
        while next_page:
            page = await self._ask("GET", next_page.removeprefix(self._base))
            for job in page["results"]:
                yield job
            next_page = page["next"] or ""

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        try:
            async with self._session.request(method, self._base + path, json=body) as response:
                if response.status >= 400:
                    raise Refusal(f"{method} {path}", response.status, await response.text())
                return await response.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"{method} {self._base}{path}: {error or type(error).__name__}") from error
