"""The fields of requests that are times or numbers, as the OpenAPI document names them, and values at their ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tasksapp.api.openapi.document import openapi_document

#: The ends of ``datetime``, in the zones that are farthest from UTC; the ends of what the API takes; and 1970.
TIMES = [
    *(f"0001-01-01T00:00:00{zone}" for zone in ("Z", "+14:00", "-12:00")),
    *(f"9999-12-31T23:59:59.999999{zone}" for zone in ("Z", "+14:00", "-12:00")),
    "0001-01-02T00:00:00Z", "9999-12-30T23:59:59.999999Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z",
]  # fmt: skip
#: Seconds and counts. A hundred years is the longest delay, ten the longest age, one the longest jitter and backoff.
NUMBERS = [
    0,
    0.001,
    1,
    59.9,
    31_536_000,
    31_622_400,
    315_532_800,
    316_224_000,
    3_155_760_000,
    2**31 - 1,
    1e18,
    10**400,
    -1,
]


class TimeField(NamedTuple):
    """A field of a request.

    Args:
        path: the names that lead to it in the body; one name for a parameter of the address.
        is_time: True for a date and time, False for a number.
        is_list: True for a list of them.
    """

    path: tuple[str, ...]
    is_time: bool
    is_list: bool = False

    @property
    def values(self) -> list[Any]:
        """Values at its ends."""
        ends: list[Any] = TIMES if self.is_time else NUMBERS
        return [[each] for each in ends] if self.is_list else ends


class TimedOperation(NamedTuple):
    """An operation that takes times or numbers."""

    method: str
    template: str
    body: list[TimeField]
    query: list[TimeField]


def timed_operations() -> list[TimedOperation]:
    """Return the operations that take times or numbers, with those fields."""
    document = openapi_document(prefix="/api")
    found = []
    for template, methods in document["paths"].items():
        for method, operation in methods.items():
            if not isinstance(operation, dict) or "operationId" not in operation:
                continue
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            body = list(_fields_of(schema, (), document))
            parameters = [each for each in operation.get("parameters", []) if each["in"] == "query"]
            query = [one for each in parameters for one in _fields_of(each["schema"], (each["name"],), document)]
            if body or query:
                found.append(TimedOperation(method.upper(), template, body, query))
    return found


def _fields_of(schema: dict[str, Any], path: tuple[str, ...], document: dict[str, Any]) -> Iterator[TimeField]:
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    for part in [each for name in ("allOf", "oneOf", "anyOf") for each in schema.get(name, [])]:
        yield from _fields_of(part, path, document)
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else {*kinds}
    if schema.get("format") == "date-time":
        yield TimeField(path, is_time=True)
    elif path and {"number", "integer"} & kinds:
        yield TimeField(path, is_time=False)
    if "array" in kinds:
        for one in _fields_of(schema.get("items", {}), path, document):
            yield (
                one._replace(is_list=True)
                if one.path == path
                else one._replace(path=(*path, "0", *one.path[len(path) :]))
            )
    for name, each in schema.get("properties", {}).items():
        if not schema.get("readOnly"):
            yield from _fields_of(each, (*path, name), document)
