"""A request to the API, before it is sent."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import UUID, uuid4

from delayhub.errors import OptionError
from delayhub.job_fields import JobRequest

#: How many jobs one request creates, at most, and how many bytes they have; a site takes 8 MB by default.
MOST_AT_ONCE, MOST_BYTES = 1_000, 4_000_000
#: How callers name a job: by its id, or by its biz type and biz id.
JobKey = str | UUID | tuple[str, str]
Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the API.

    Args:
        method: such as ``GET``.
        path: below the API's address; begins with a slash, and is quoted.
        query: the parameters after the question mark.
        body: what is sent as JSON; None for nothing.
        headers: beside those that every request has.
        repeatable: whether doing it twice is the same as doing it once.
    """

    method: str
    path: str
    _: KW_ONLY
    query: Query = ()
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False

    @property
    def content(self) -> bytes | None:
        """The body as it is sent. Raises OptionError where a value of it is no JSON."""
        return None if self.body is None else json_bytes(self.body, what=str(self))

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.method} {self.path}"


def read(path: str, *, query: Query = ()) -> Request:
    """A request that changes nothing."""
    return Request("GET", path, query=query, repeatable=True)


def segment(text: str) -> str:
    """A part of a path, quoted. Parts of dots are quoted too: HTTP libraries would take them for steps upwards."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def path_of(job: JobKey) -> str:
    """The path of a job. Raises OptionError where the key cannot name one."""
    match job:
        case (biz_type, biz_id):
            if not (biz_type and biz_id):
                raise OptionError(f"a job is named by its biz type and its biz id, got {job!r}")
            return f"/biz-types/{segment(biz_type)}/jobs/{segment(biz_id)}"
        case _:
            if not str(job):
                raise OptionError("a job's id may not be empty")
            return f"/jobs/{segment(str(job))}"


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None, as JSON has them."""
    return {name: plain(value) for name, value in fields.items() if value is not None}


def parameters(**fields: Any) -> Query:
    """The parameters that are not None; a list is one for each of its values."""
    listed: list[tuple[str, str]] = []
    for name, value in fields.items():
        several = value if isinstance(value, list | tuple | set | frozenset) else [value]
        listed += [(name, _text(each)) for each in several if each is not None]
    return listed


def job_fields(job: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a job as JSON has them. The body is the caller's own, and JSON already, unless it is bytes.

    Raises OptionError where exact bytes are none.
    """
    fields = {name: value if name == "body" else plain(value) for name, value in job.items() if name != "raw"}
    raw = job.get("raw")
    if raw is not None:
        if not isinstance(raw, bytes | bytearray | memoryview):
            raise OptionError(f"raw must be bytes, got {type(raw).__name__}: encode a text first")
        fields["body_base64"] = b64encode(raw).decode()
    return fields


def new_job_fields(job: JobRequest) -> dict[str, Any]:
    """The fields of a job to create, with an idempotency key: with one, a repeated request makes no second job."""
    fields = {name: value for name, value in job_fields(job).items() if value is not None}
    fields.setdefault("idempotency_key", str(uuid4()))
    return fields


def chunks(jobs: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The jobs in parts that one request can have. Raises OptionError where a job is no JSON."""
    part: list[Mapping[str, Any]] = []
    size = 0
    for job in jobs:
        length = len(json_bytes(job, what="a job"))
        if part and (len(part) == MOST_AT_ONCE or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(job)
        size += length
    if part:
        yield part


def json_bytes(value: Any, *, what: str) -> bytes:
    """A value as JSON. Raises OptionError where it is none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise OptionError(f"{what} cannot be sent as JSON: {error}") from error


def plain(value: Any) -> Any:
    """A value as JSON has it: times as ISO 8601, durations in seconds, ids as text."""
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case Mapping():
            return {name: plain(entry) for name, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(entry) for entry in value]
    return value


def next_query(address: str | None) -> Query | None:
    """The parameters of the next page, from its address; None where there is none.

    The rest of the address is not used: it is as the site sees itself, which a proxy may have another name for, and
    the key is sent to no other host.
    """
    return None if not address else parse_qsl(urlsplit(address).query, keep_blank_values=True)


def _text(value: Any) -> str:
    value = plain(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
