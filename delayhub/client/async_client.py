"""A small asynchronous client of the REST API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp

from delayhub.errors import DelayHubError

#: The path of the API in the ready-made project.
API_PATH = "/api/v1"
CONNECTIONS = 8
PAGE = 1000
TIMEOUT_SECONDS = 30


class Refusal(DelayHubError):
    """The API refused a request; the message names the request and the answer."""

    def __init__(self, request: str, status: int, answer: str) -> None:
        self.status = status
        super().__init__(f"{request} was answered {status}: {answer}")


class Unreachable(DelayHubError):
    """The API did not answer; the message names the request and what went wrong."""


class ApiClient:
    """A client of a site's API, usable inside its ``async with`` block.

    Args:
        url: the site's address, without the path of the API.
        key: the API key.
        path: the path of the API.

    Every verb raises:
        Refusal: the answer's status is 400 or more.
        Unreachable: no answer came within 30 seconds.
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
        """Creates a job; gives it as the API shows it."""
        return dict(await self._ask("POST", "/jobs", job))

    async def create_many(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Creates jobs by one request; gives them in order. Also raises Refusal if a single one was refused."""
        results = (await self._ask("POST", "/jobs/bulk", {"jobs": list(jobs)}))["results"]
        for result in results:
            if "error" in result:
                raise Refusal("POST /jobs/bulk", result["error"]["status"], result["error"]["detail"])
        return list(results)

    async def move(self, job_id: str, *, due_at: str) -> dict[str, Any]:
        """Moves a job to another time; gives the moved job."""
        return dict(await self._ask("PATCH", f"/jobs/{job_id}", {"due_at": due_at}))

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancels a job; gives the cancelled job."""
        return dict(await self._ask("POST", f"/jobs/{job_id}/cancel"))

    async def biz_types(self) -> list[dict[str, Any]]:
        """Every biz type."""
        return list(await self._ask("GET", "/biz-types"))

    async def newest(self) -> AsyncIterator[dict[str, Any]]:
        """Every job, newest first; a page is fetched when the one before is used up."""
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
