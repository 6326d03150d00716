"""Decodes the JSON of requests: as strictly as every view wants it, and with the text of each job's body as it came."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs leave it out
from typing import Any

from tasksapp.jobs.written_json import WrittenJson, object_of, refuse_constant, twice

#: The member of a job whose text is kept, and the member of a request that holds several jobs.
BODY, JOBS = "body", "jobs"
#: Jobs in one request. Decoding stops after them: a list of millions of empty ones would take a gigabyte.
MAX_BULK = 1_000

_BLANKS = r"[ \t\n\r]*"
#: A member's name and its colon, up to the value.
_NAME = rf'"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"{_BLANKS}:{_BLANKS}'
_skip_blanks: Callable[..., Any] = re.compile(_BLANKS).match
_first_member: Callable[..., Any] = re.compile(rf"\{{{_BLANKS}(?:{_NAME}|\}})").match
_next_member: Callable[..., Any] = re.compile(rf"{_BLANKS}(?:,{_BLANKS}{_NAME}|\}})").match
_SIMPLE = r'(?:"[^"\\\x00-\x1f]*"|[-+.0-9Ee]+|true|false|null)'
#: Of an object that is known to be valid: members with simple values, and the name of the body.
_up_to_body: Callable[..., Any] = re.compile(
    rf'\{{{_BLANKS}(?:"[^"\\\x00-\x1f]*"{_BLANKS}:{_BLANKS}{_SIMPLE}{_BLANKS},{_BLANKS})*"{BODY}"{_BLANKS}:{_BLANKS}'
).match
#: What stands before the next item of a list, or the list's end.
_first_item: Callable[..., Any] = re.compile(rf"\[{_BLANKS}(\])?").match
_next_item: Callable[..., Any] = re.compile(rf"{_BLANKS}(?:,{_BLANKS}|(\]))").match


def decode(text: str) -> Any:
    """The value of the text; a member ``body`` of a job is a WrittenJson.

    Raises ValueError where the text is not strict JSON (no NaN, no repeated names), RecursionError where it is nested
    too deeply, TooManyJobs where ``jobs`` is a list of more than ``MAX_BULK``.
    """
    try:
        start = _skip_blanks(text, 0).end()
        value, end = _walk_object(text, start, _REQUEST) if text.startswith("{", start) else _scan(text, start)
        if _skip_blanks(text, end).end() == len(text):
            return value
    except (IndexError, StopIteration, _Unexpected):
        pass
    # The walk says that the text is no JSON; the decoder itself also says what is wrong, and where.
    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=object_of)


class TooManyJobs(Exception):
    """The list of jobs is longer than one request may have."""


class _Unexpected(Exception):
    """A character that cannot stand there."""


_decoder: Any = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=object_of)
#: From the text and where a value begins to the value and where it ends.
_scan: Callable[[str, int], tuple[Any, int]] = _decoder.scan_once

#: What is done with a member's value instead of a plain scan: from the text and where it begins to value and end.
Walks = dict[str, Callable[[str, int], tuple[Any, int]]]


def _walk_object(text: str, start: int, walks: Walks) -> tuple[dict[str, Any], int]:
    """The object that begins there, and where it ends."""
    found: dict[str, Any] = {}
    member = _first_member(text, start)
    while member is not None:
        name, at = member[1], member.end()
        if name is None:
            return found, at
        if "\\" in name:
            name, _ = scanstring(text, member.start(1))
        if name in found:
            raise ValueError(twice(name))
        found[name], at = walks.get(name, _scan)(text, at)
        member = _next_member(text, at)
    raise _Unexpected


def _walk_body(text: str, start: int) -> tuple[WrittenJson, int]:
    value, end = _scan(text, start)
    return WrittenJson(value, text[start:end]), end


def _walk_jobs(text: str, start: int) -> tuple[Any, int]:
    """The list of jobs that begins there; anything else as it is."""
    item = _first_item(text, start)
    if item is None:
        return _scan(text, start)
    found: list[Any] = []
    while item is not None:
        at = item.end()
        if item[1] is not None:
            return found, at
        if len(found) == MAX_BULK:
            raise TooManyJobs
        value, at = _scan_job(text, at)
        found.append(value)
        item = _next_item(text, at)
    raise _Unexpected


def _scan_job(text: str, start: int) -> tuple[Any, int]:
    """One of many jobs: faster than a walk, since one expression passes over the members before its body."""
    value, end = _scan(text, start)
    if not isinstance(value, dict) or BODY not in value:
        return value, end
    before = _up_to_body(text, start)
    if before is None:
        return _walk_object(text, start, _JOB)
    if next(reversed(value)) == BODY:
        written = text[before.end() : end - 1].rstrip(" \t\n\r")
    else:
        written = text[before.end() : _scan(text, before.end())[1]]
    value[BODY] = WrittenJson(value[BODY], written)
    return value, end


_JOB: Walks = {BODY: _walk_body}
_REQUEST: Walks = {BODY: _walk_body, JOBS: _walk_jobs}
