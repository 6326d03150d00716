"""What an answer says: its JSON and its models, the error that it stands for, and whether to ask again."""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import httpx

from delayhub.client.errors import (
    ApiError,
    Conflict,
    NoRoomToWait,
    Problem,
    RateLimited,
    ServerUnavailable,
    UnexpectedAnswer,
    Unreachable,
    problem,
)
from delayhub.client.request import Request

#: The longest pause before the first repetition, in seconds; it doubles with each.
FIRST_PAUSE = 0.5
#: The longest pause that is not asked for by the site.
LONGEST_PAUSE = 8.0
#: The longest pause is reached before: 2 to a thousandth power is no number that a float has.
MOST_DOUBLINGS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrying:
    """When a request is sent again.

    A request that certainly did nothing (no connection, refused as too many, or ended since what it needed stayed
    locked) is repeated, whatever it asks for. One that may have done something is repeated only where doing it twice is
    the same as doing it once: reads, and what carries an idempotency key.

    Args:
        retries: how often, at most.
        most_wait_seconds: the longest pause that the site may ask for.
    """

    retries: int
    most_wait_seconds: float

    def pause(self, error: ApiError, *, repeatable: bool, failures: int) -> float | None:
        """The seconds before the request is sent again; None where the error is to be raised.

        Args:
            error: what came of the last attempt.
            repeatable: whether doing it twice is the same as doing it once.
            failures: how many attempts have failed so far.
        """
        if failures > self.retries or not _may_repeat(error, repeatable=repeatable):
            return None
        asked = getattr(error, "retry_after", None)
        if asked is None:
            # Full jitter: callers that failed together do not come back together.
            longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, MOST_DOUBLINGS))
            return random.uniform(0, longest)  # noqa: S311  no secret
        return None if asked > self.most_wait_seconds else asked + random.uniform(0, FIRST_PAUSE)  # noqa: S311  as above


def _may_repeat(error: ApiError, *, repeatable: bool) -> bool:
    match error:
        case NoRoomToWait():  # who asked does better than to wait for a place to wait in
            return False
        case RateLimited() | ServerUnavailable(code="database_locked" | "write_conflict"):  # nothing was done
            return True
        case Unreachable(was_sent=was_sent):
            return repeatable or not was_sent
        case ServerUnavailable():
            return repeatable
        case Conflict(code="idempotency_key_in_use"):  # the first request with the key is still under way
            return True
    return False


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait that an answer names in ``Retry-After``, else in ``RateLimit``; None where it names none."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        # A proxy may name a moment. The answer's own Date is subtracted, so that clocks need not agree.
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (KeyError, TypeError, ValueError):
        return exhausted_for(headers)


def exhausted_for(headers: Mapping[str, str]) -> float | None:
    """The seconds until a limit that is used up is renewed, from ``RateLimit: "name";r=0;t=30``; None where none is."""
    waits = []
    for policy in headers.get("RateLimit", "").split(","):
        values = dict(part.strip().partition("=")[::2] for part in policy.split(";")[1:])
        if values.get("r") == "0" and values.get("t", "").isdigit():
            waits.append(float(values["t"]))
    return max(waits, default=None)


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

    Where an older one has no such field it is empty: None, '', False, or without entries.

    Args:
        model: the class.
        value: the JSON.
        etag: from the answer's header, for models that have it.

    Raises UnexpectedAnswer where a field is missing that cannot be empty, all are, or a value cannot be what the model
    says.
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
    each = {field.name: decoder(hints[field.name]) for field in fields(model)}
    required = [field.name for field in fields(model) if field.default is field.default_factory is MISSING]
    empty = {name: nothing for name in required if (nothing := _empty_of(hints[name])) is not None}

    def make(value: Mapping[str, Any]) -> Any:
        found = {name: of(value[name]) for name, of in each.items() if name in value}
        if required and found.keys().isdisjoint(required):
            raise KeyError(required[0])
        if len(found) < len(each):
            found |= {name: nothing() for name, nothing in empty.items() if name not in found}
        return model(**found)

    return make


def _empty_of(annotation: Any) -> Callable[[], Any] | None:
    """What makes the value of a field that is not there; None where there has to be one."""
    if annotation in (str, bool):
        return annotation  # type: ignore[no-any-return]  # '' and False
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return type(None)
    if origin is Sequence:
        return list
    return dict if origin is Mapping else None


def _as_it_is(value: Any) -> Any:
    return value
