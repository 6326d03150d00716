"""Sends requests to a site, and repeats those that may be repeated."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx

from delayhub.client.answer import Answer, Retrying, answer_of, decode, error_of, unreachable
from delayhub.client.errors import ApiError, UnexpectedAnswer
from delayhub.client.options import ClientOptions
from delayhub.client.request import Query, Request, given, next_query, read

logger: logging.Logger = logging.getLogger(__name__)
Model = TypeVar("Model")


class Connection:
    """The connections to one site.

    Args:
        options: the options of the client.
        transport: in place of the network, for tests.
    """

    def __init__(self, options: ClientOptions, *, transport: httpx.BaseTransport | None = None) -> None:
        self._retrying = Retrying(retries=options.retries, most_wait_seconds=options.most_wait_seconds)
        self._base = options.base_url
        self.timeout_seconds: float = options.timeout_seconds
        self._http = httpx.Client(
            headers=options.headers, timeout=options.timeout, limits=options.limits, transport=transport
        )

    def ask(self, request: Request) -> Any:
        """The JSON that the site answers a request with. Raises ApiError."""
        return (self._answer(request)).value

    def _answer(self, request: Request) -> Answer:
        failures = 0
        while True:
            try:
                return self._ask_once(request)
            except ApiError as error:
                failures += 1
                pause = self._retrying.pause(error, repeatable=request.repeatable, failures=failures)
                if pause is None:
                    raise
            time.sleep(pause)

    def one(self, model: type[Model], request: Request) -> Model:
        """The answer as that model. Raises ApiError."""
        value, etag = self._answer(request)
        return decode(model, value, etag=etag)

    def post(self, model: type[Model], path: str, **fields: Any) -> Model:
        """The answer to a verb, as that model; fields that are None are not sent. Raises ApiError."""
        return self.one(model, Request("POST", path, body=given(**fields)))

    def every(self, model: type[Model], request: Request) -> list[Model]:
        """The answer, a list, as models. Raises ApiError."""
        listed = self.ask(request)
        if not isinstance(listed, list):
            raise UnexpectedAnswer(f"{request} was not answered with a list")
        return [decode(model, entry) for entry in listed]

    def pages(self, model: type[Model], path: str, *, query: Query) -> Iterator[Model]:
        """Each row of a list; a page is asked for when the one before is used up. Raises ApiError."""
        following: Query | None = query
        while following is not None:
            page = self.ask(read(path, query=following))
            if not isinstance(page, dict) or "results" not in page:
                raise UnexpectedAnswer(f"GET {path} was not answered with a page of a list")
            for entry in page["results"]:
                yield decode(model, entry)
            following = next_query(page.get("next"))

    def parts(self, request: Request) -> Iterator[bytes]:
        """The answer, part by part as it comes. It is asked for once. Raises ApiError."""
        address, query = self._base + request.path, request.query
        try:
            with self._http.stream(request.method, address, params=list(query) or None) as response:
                if not response.is_success:
                    response.read()
                if (error_found := error_of(request, response)) is not None:
                    raise error_found
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise unreachable(request, error, at=self._base) from error

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _ask_once(self, request: Request) -> Answer:
        content = request.content
        headers = dict(request.headers)
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            response = self._http.request(
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
