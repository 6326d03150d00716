"""Sends requests to a site, and repeats those that may be repeated."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import anyio
import httpx

from delayhub.client.answer import Answer, Retrying, answer_of, decode, error_of, unreachable
from delayhub.client.errors import ApiError, UnexpectedAnswer
from delayhub.client.options import ClientOptions
from delayhub.client.request import Query, Request, given, next_query, read

logger: logging.Logger = logging.getLogger(__name__)
Model = TypeVar("Model")


class AsyncConnection:
    """The connections to one site.

    Args:
        options: the options of the client.
        transport: in place of the network, for tests.
    """

    def __init__(self, options: ClientOptions, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._retrying = Retrying(retries=options.retries, most_wait_seconds=options.most_wait_seconds)
        self._base = options.base_url
        self.timeout_seconds: float = options.timeout_seconds
        self._http = httpx.AsyncClient(
            headers=options.headers, timeout=options.timeout, limits=options.limits, transport=transport
        )

    async def ask(self, request: Request) -> Any:
        """The JSON that the site answers a request with. Raises ApiError."""
        return (await self._answer(request)).value

    async def _answer(self, request: Request) -> Answer:
        failures = 0
        while True:
            try:
                return await self._ask_once(request)
            except ApiError as error:
                failures += 1
                pause = self._retrying.pause(error, repeatable=request.repeatable, failures=failures)
                if pause is None:
                    raise
            await anyio.sleep(pause)

    async def one(self, model: type[Model], request: Request) -> Model:
        """The answer as that model. Raises ApiError."""
        value, etag = await self._answer(request)
        return decode(model, value, etag=etag)

    async def post(self, model: type[Model], path: str, **fields: Any) -> Model:
        """The answer to a verb, as that model; fields that are None are not sent. Raises ApiError."""
        return await self.one(model, Request("POST", path, body=given(**fields)))

    async def every(self, model: type[Model], request: Request) -> list[Model]:
        """The answer, a list, as models. Raises ApiError."""
        listed = await self.ask(request)
        if not isinstance(listed, list):
            raise UnexpectedAnswer(f"{request} was not answered with a list")
        return [decode(model, entry) for entry in listed]

    async def pages(self, model: type[Model], path: str, *, query: Query) -> AsyncIterator[Model]:
        """Each row of a list; a page is asked for when the one before is used up. Raises ApiError."""
        following: Query | None = query
        while following is not None:
            page = await self.ask(read(path, query=following))
            if not isinstance(page, dict) or "results" not in page:
                raise UnexpectedAnswer(f"GET {path} was not answered with a page of a list")
            for entry in page["results"]:
                yield decode(model, entry)
            following = next_query(page.get("next"))

    async def parts(self, request: Request) -> AsyncIterator[bytes]:
        """The answer, part by part as it comes. It is asked for once. Raises ApiError."""
        address, query = self._base + request.path, request.query
        try:
            async with self._http.stream(request.method, address, params=list(query) or None) as response:
                if not response.is_success:
                    await response.aread()
                if (error_found := error_of(request, response)) is not None:
                    raise error_found
                async for part in response.aiter_bytes():
                    yield part
        except httpx.TransportError as error:
            raise unreachable(request, error, at=self._base) from error

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _ask_once(self, request: Request) -> Answer:
        content = request.content
        headers = dict(request.headers)
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            response = await self._http.request(
                request.method,
                self._base + request.path,
                params=list(request.query) or None,
                content=content,
                headers=headers,
            )
        except httpx.TransportError as error:
            raise unreachable(request, error, at=self._base) from error
        except httpx.DecodingError as error:
            raise UnexpectedAnswer(f"{request} was answered with what cannot be decoded: {error}") from error
        if (error_found := error_of(request, response)) is not None:
            raise error_found
        if "Deprecation" in response.headers:
            logger.warning(
                "%s is deprecated at %s until %s: use a newer client",
                request,
                self._base,
                response.headers.get("Sunset", "a time that is not fixed"),
            )
        return answer_of(request, response)
