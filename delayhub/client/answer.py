"""What an answer says: its JSON, or the error that it stands for."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

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


T = TypeVar("T")


def decode(model: type[T], value: Any, *, etag: str = "") -> T:
    """The model with the answer's values. Fields that the model does not know are left out: a newer site has more.

    Args:
        model: the class.
        value: the JSON.
        etag: from the answer's header, for models that have it.

    Raises UnexpectedAnswer where a field is missing, or a value cannot be what the model says.
    """
    try:
        annotation: Any = model
        decoded: T = decoder(annotation)({**value, "etag": etag})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedAnswer(
            f"the answer is no {model.__name__} as this client knows it ({type(error).__name__}: {error}): is another"
            " version of DelayHub at that address?"
        ) from error
    return decoded


@cache
def decoder(annotation: Any) -> Callable[[Any], Any]:
    """What makes a value of that annotation from JSON."""
    if annotation is datetime:
        return datetime.fromisoformat
    if isinstance(annotation, type) and is_dataclass(annotation):
        return _of_dataclass(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        (given,) = [decoder(kind) for kind in inner if kind is not type(None)]
        return lambda value: None if value is None else given(value)
    if origin is Sequence:
        each = decoder(inner[0])
        return lambda value: [each(entry) for entry in value]
    if origin is Mapping:
        of_key = decoder(inner[1])
        return lambda value: {name: of_key(entry) for name, entry in value.items()}
    return _as_it_is


def _of_dataclass(model: type) -> Callable[[Any], Any]:
    hints = get_type_hints(model)
    each = [
        (field.name, decoder(hints[field.name]), field.default is MISSING and field.default_factory is MISSING)
        for field in fields(model)
    ]

    def make(value: Mapping[str, Any]) -> Any:
        return model(**{name: of(value[name]) for name, of, required in each if required or name in value})

    return make


def _as_it_is(value: Any) -> Any:
    return value
