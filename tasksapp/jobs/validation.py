"""Rules: what a field of a job may be, for Python callers and the API alike.

A rule takes what a caller gave, as Python (``datetime``, ``timedelta``) or as JSON has it (ISO 8601, seconds), and
gives back the value to store, or raises :class:`InvalidJob` with the field's name.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from django.utils.dateparse import parse_datetime

from delayhub.engine.entry import MAX_FLOW_KEY_BYTES, NOT_IN_FLOW_KEYS
from delayhub.job_fields import JobFields, fields_of
from tasksapp.conf import options
from tasksapp.errors import InvalidJob
from tasksapp.jobs.written_json import WrittenJson
from tasksapp.models.columns import is_code

MAX_DEPTH = 32
MAX_DELAY = timedelta(days=36_525)
_NO_TIME = timedelta(0)
#: Nearer to the ends of what a datetime can be, some time zones have no date for a moment: no page there could show it.
EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
LATEST = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)

#: A number that may not fit in 64 bits or in a double; looked at more closely where it is found.
_LONG_NUMBER = re.compile(r"[0-9]{16}")
#: What may be such a number, one beyond a double (1e400), a NUL or half a surrogate pair, in the text of a caller.
_DOUBTFUL = re.compile(r"[0-9]{16}|[0-9][eE]\+?[0-9]{3}|\\u")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TRACEPARENT = re.compile(r"\A(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
#: What the code of a biz type looks like.
CODE = "^[a-z0-9][a-z0-9._-]{0,99}$"


class Face(StrEnum):
    """Where callers meet the fields of a job."""

    #: ``POST /jobs``, the clients' ``create`` and ``delayhub jobs create``.
    CREATE = "create"
    #: ``PATCH /jobs``, the clients' ``change``, ``delayhub jobs change`` and the admin's form.
    CHANGE = "change"
    SERIES = "series"
    #: ``schedule()`` of a delayed task.
    TASK = "task"
    #: The JSON of a job, its page in the admin, and what the command line shows of it.
    ANSWER = "answer"


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """What one field may be. The rules of a class stand in the annotations of its fields; see :func:`rules_of`.

    Args:
        help: what the field is for, in a sentence; OpenAPI shows it. '': the words of :mod:`delayhub.job_fields`.
        absent: of a job's field, the faces that do not have it, each with the reason. It is on all others.
        field: the name that callers know the field by.
    """

    help: str = ""
    absent: Mapping[Face, str] = dataclasses.field(default_factory=dict, hash=False)
    field: str = ""

    @abstractmethod
    def __call__(self, given: Any) -> Any:
        """The value to store. Raises InvalidJob."""

    def refusal(self, code: str, text: str) -> InvalidJob:
        """The error that names the field."""
        return InvalidJob(self.field, code, f"{self.field} {text}")


def rules_of(declaration: type) -> dict[str, Rule]:
    """The rules of a class by field: each is the part of the field's ``Annotated[…]`` that is a rule."""
    hints = get_type_hints(declaration, include_extras=True)
    found = ((name, part) for name, hint in hints.items() for part in get_args(hint) if isinstance(part, Rule))
    words = {each.name: each.words for each in fields_of(JobFields)}
    return {name: replace(rule, field=name, help=rule.help or words.get(name, "")) for name, rule in found}


@dataclass(frozen=True, kw_only=True)
class Code(Rule):
    """The code of a biz type; whether there is such a biz type is not for the rule to find out."""

    def __call__(self, given: Any) -> str:
        if not isinstance(given, str) or not is_code(given):
            raise self.refusal("invalid", f"must be the code of a biz type, got {_shown(given)}")
        return given


@dataclass(frozen=True, kw_only=True)
class Line(Rule):
    """A line of text; '' for none."""

    longest: int

    def __call__(self, given: Any) -> str:
        return "" if given is None else _line(self, given, longest=self.longest)


@dataclass(frozen=True, kw_only=True)
class FlowKey(Rule):
    """A flow key: a line that can be part of a Redis key; '' for none."""

    longest: int = MAX_FLOW_KEY_BYTES

    def __call__(self, given: Any) -> str:
        key = "" if given is None else _line(self, given, longest=self.longest)
        if len(key.encode()) > MAX_FLOW_KEY_BYTES or any(character in key for character in NOT_IN_FLOW_KEYS):
            raise self.refusal("invalid", f"may have {MAX_FLOW_KEY_BYTES} bytes, and no colon, brace or NUL")
        return key


@dataclass(frozen=True, kw_only=True)
class Key(Rule):
    """A key that the caller makes: a line that is not empty, or None.

    Args:
        none: what is stored where no key is given.
    """

    longest: int
    none: str | None = None

    def __call__(self, given: Any) -> str | None:
        if given is None:
            return self.none
        key = _line(self, given, longest=self.longest)
        if not key:
            raise self.refusal("blank", "may not be empty")
        return key


@dataclass(frozen=True, kw_only=True)
class Whole(Rule):
    """A whole number, or None."""

    least: int
    most: int

    def __call__(self, given: Any) -> int | None:
        if given is None:
            return None
        if not isinstance(given, int) or isinstance(given, bool) or not self.least <= given <= self.most:
            text = f"must be a whole number from {self.least} to {self.most}, got {_shown(given)}"
            raise self.refusal("invalid", text)
        return given


@dataclass(frozen=True, kw_only=True)
class Moment(Rule):
    """A moment, in UTC, or None."""

    def __call__(self, given: Any) -> datetime | None:
        if given is None:
            return None
        moment = given
        if isinstance(given, str) and len(given) <= 40:
            try:
                moment = parse_datetime(given)
            except ValueError:
                moment = None
        if not isinstance(moment, datetime):
            raise self.refusal("invalid", f"must be an ISO 8601 date and time, got {_shown(given)}")
        if moment.tzinfo is None:
            raise self.refusal("no_time_zone", f"needs a time zone, got {_shown(given)}")
        try:
            return utc_moment(moment)
        except OverflowError:
            raise self.refusal("out_of_range", f"is out of range: {_shown(given)}") from None


@dataclass(frozen=True, kw_only=True)
class Seconds(Rule):
    """A time span that is not negative: a ``timedelta`` or seconds; or None."""

    def __call__(self, given: Any) -> timedelta | None:
        if given is None:
            return None
        if isinstance(given, timedelta):
            wait = given
        elif type(given) is int or is_number(given):
            try:
                wait = timedelta(seconds=given)
            except OverflowError:
                raise _too_far(self, given) from None
        else:
            raise self.refusal("invalid", f"must be a number of seconds, got {_shown(given)}")
        if wait < _NO_TIME:
            raise self.refusal("negative", f"may not be negative, got {_shown(given)}")
        if wait > MAX_DELAY:
            raise _too_far(self, given)
        return wait


@dataclass(frozen=True, kw_only=True)
class TraceContext(Rule):
    """A W3C trace context to hand on; one that is malformed is dropped, as the recommendation has it."""

    def __call__(self, given: Any) -> str:
        return given if isinstance(given, str) and _TRACEPARENT.match(given) else ""


@dataclass(frozen=True, kw_only=True)
class Body(Rule):
    """Any JSON value, as the exact text to be signed and sent: its caller's own, where that is JSON; else compact."""

    def __call__(self, given: Any) -> str:
        value, text = given if isinstance(given, WrittenJson) else (given, None)
        # What a caller wrote as JSON is encoded only where it may be what cannot be sent: encoding takes
        # longer than all other rules together.
        doubtful = text is None or _DOUBTFUL.search(text) is not None
        try:
            encoded = _encode(value) if doubtful else ""
            text = encoded if text is None else text
            size = len(text.encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise self._unfit(error) from None
        # None is a request without a body. It always fits, so that nothing here needs the settings at import.
        if given is not None and size > options().body_bytes:
            raise self.refusal("too_large", f"may have {options().body_bytes} bytes as JSON, got {size}")
        # Most bodies can hold neither a deep nesting nor a bad value: only the others are walked.
        nested = text.count("[") + text.count("{") > MAX_DEPTH
        if nested or (doubtful and ("\\u0000" in text or _LONG_NUMBER.search(text))):
            self._walk(value, 1)
        return text

    def _walk(self, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._too_deep()
        match value:
            case dict():
                for key, item in value.items():
                    self._walk(key, depth)
                    self._walk(item, depth + 1 if isinstance(item, (dict, list, tuple)) else depth)
            case list() | tuple():
                for item in value:
                    self._walk(item, depth + 1 if isinstance(item, (dict, list, tuple)) else depth)
            case str() if "\x00" in value:
                raise self.refusal("nul", "may not hold the character NUL")
            case int() if not -(2**63) <= value < 2**64:
                raise self.refusal("number", f"may hold whole numbers of 64 bits, got {_shown(value)}")

    def _unfit(self, error: Exception) -> InvalidJob:
        if isinstance(error, RecursionError):
            return self._too_deep()
        if isinstance(error, UnicodeEncodeError):
            return self.refusal("invalid", "holds half a surrogate pair")
        return self.refusal("invalid", f"must be a JSON value: {error}")

    def _too_deep(self) -> InvalidJob:
        return self.refusal("too_deep", f"may be nested {MAX_DEPTH} levels deep")


#: The rules of what verbs take, and creation too.
DUE_AT = Moment(field="due_at", help="When it is due, with a time zone; or:")
DELAY = Seconds(field="delay", help="Seconds from now.")
#: The version that a caller saw; None for any.
VERSION = Whole(field="version", least=1, most=2**31 - 1, help="Only if the job still has this version.")


def utc_moment(moment: datetime) -> datetime:
    """The moment in UTC. Raises OverflowError where a time zone has no date for it."""
    found = moment.astimezone(UTC)
    if not EARLIEST <= found <= LATEST:
        raise OverflowError(f"{moment} is too near to the end of the calendar")
    return found


def due_time(*, due: datetime | None, wait: timedelta | None, now: datetime) -> datetime:
    """The moment a job is due: at most one of the two says it; neither means now. Raises InvalidJob."""
    if due is not None and wait is not None:
        raise InvalidJob(DELAY.field, "conflict", "give due_at or delay, not both")
    if due is None:
        return now + (wait or _NO_TIME)
    if due - now > MAX_DELAY:
        raise _too_far(DUE_AT, due.isoformat())
    return due


def _line(rule: Rule, given: Any, *, longest: int) -> str:
    if not isinstance(given, str):
        raise rule.refusal("invalid", f"must be a string, got {_shown(given)}")
    if len(given) > longest:
        raise rule.refusal("too_long", f"may have {longest} characters, got {len(given)}")
    # What can be printed has none of them; but some of what is kept, such as a blank of no width, cannot be.
    if not given.isprintable() and (_CONTROL.search(given) or not _is_utf8(given)):
        raise rule.refusal("invalid", f"may not hold control characters, got {_shown(given)}")
    return given


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no boolean."""
    # Asked of floats only, for there are whole numbers too large for one.
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def _too_far(rule: Rule, given: Any) -> InvalidJob:
    return rule.refusal("too_far", f"may be 100 years ahead at most, got {_shown(given)}")


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python likes to print
        text = "a huge number"
    return text if len(text) <= 80 else f"{text[:77]}..."
