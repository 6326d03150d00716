"""What an answer says: its JSON, or the error that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from delayhub.client.errors import ApiError, Problem, UnexpectedAnswer, Unreachable, problem
from delayhub.client.request import Request
from delayhub.client.retrying import retry_after_of

#: Errors before anything of a request was sent.
_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
#: What some errors mean, for which httpx has no text.
_REASONS: Mapping[type[httpx.TransportError], str] = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.ReadTimeout: "no answer in time",
    httpx.WriteTimeout: "the request could not be sent in time",
    httpx.PoolTimeout: "all connections of this client are in use",
    httpx.ReadError: "the connection was cut",
    httpx.WriteError: "the connection was cut",
}
#: How much of an answer that is no JSON a message shows.
_SHOWN = 200


class Answer(NamedTuple):
    """What the site answered: the JSON (None: it was empty), and the name of the state that it shows."""

    value: Any
    etag: str


def answer_of(request: Request, response: httpx.Response) -> Answer:
    """The answer in a response. Raises UnexpectedAnswer."""
    try:
        return Answer(response.json() if response.content else None, response.headers.get("ETag", ""))
    except ValueError as error:
        raise UnexpectedAnswer(
            f"{request} was answered {response.status_code} with what is no JSON: {response.text[:_SHOWN]!r}"
        ) from error


def error_of(request: Request, response: httpx.Response) -> ApiError | None:
    """The error that an answer stands for; None where it stands for none."""
    if response.is_success:
        return None
    if response.status_code < 400:
        where = response.headers.get("Location", "elsewhere")
        return UnexpectedAnswer(f"{request} was answered {response.status_code}, to {where}: give that site's address")
    return _problem_of(request, response)


def unreachable(request: Request, error: httpx.TransportError, *, at: str) -> Unreachable:
    """The error for a request to the API at that address that no answer came to."""
    reason = str(error) or _REASONS.get(type(error), type(error).__name__)
    return Unreachable(f"{request.method} {at}{request.path}", reason, was_sent=not isinstance(error, _BEFORE_SENDING))


def _problem_of(request: Request, response: httpx.Response) -> Problem:
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        # Not by our API: a proxy, or what else is at that address.
        text = response.text[:_SHOWN] if response.headers.get("Content-Type", "").startswith("text/plain") else ""
        document = {"detail": text or f"{response.reason_phrase} (not by DelayHub: a proxy, or another address)"}
    return problem(
        str(request),
        status=response.status_code,
        document=document,
        retry_after=retry_after_of(response.headers),
        request_id=response.headers.get("X-Request-ID", ""),
    )
