"""Exact bytes: the body of a job that is no JSON, its content type, and how both are shown."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, NamedTuple

from tasksapp.access.shown_text import text_of
from tasksapp.conf import options
from tasksapp.delivery.own_request import OwnRequest, read_own_request
from tasksapp.errors import InvalidJob
from tasksapp.jobs.validation import Rule
from tasksapp.models import BizType, Job, Series

#: The content type of bytes whose caller names none, and of a text.
ANY_BYTES, PLAIN_TEXT = "application/octet-stream", "text/plain; charset=utf-8"
LONGEST_CONTENT_TYPE = 200
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
#: A media type with its parameters, of visible ASCII in one line: it becomes a header.
CONTENT_TYPE = rf"^{_NAME}/{_NAME}(?:[ \t]*;[\t -~]*)?$"
_is_content_type = re.compile(CONTENT_TYPE).fullmatch


class Shown(NamedTuple):
    """Exact bytes as JSON can have them: as a text where they are UTF-8 without NUL, else in base64."""

    body_text: str | None = None
    body_base64: str | None = None
    content_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExactBytes(Rule):
    """Bytes that are signed and sent as they are, in the place of JSON; None for a job whose body is JSON."""

    def __call__(self, given: Any) -> bytes | None:
        if given is None:
            return None
        if not isinstance(given, bytes | bytearray | memoryview):
            raise self.refusal("invalid", f"must be bytes, got {type(given).__name__}: encode a text first")
        size = given.nbytes if isinstance(given, memoryview) else len(given)
        if size > options().body_bytes:
            # Callers of the API know the field by other names.
            raise InvalidJob("body", "too_large", f"body may have {options().body_bytes} bytes, got {size}")
        return bytes(given)


@dataclass(frozen=True, kw_only=True)
class ContentType(Rule):
    """The content type of exact bytes; '' for none."""

    def __call__(self, given: Any) -> str:
        if given is None or given == "":
            return ""
        if not isinstance(given, str) or len(given) > LONGEST_CONTENT_TYPE or not _is_content_type(given):
            text = f"must be a media type such as text/plain, of up to {LONGEST_CONTENT_TYPE} characters"
            raise self.refusal("invalid", f"{text}, got {given!r:.80}")
        return given


def with_content_type(text: str, *, raw: bytes | None, content_type: str, biz_type: BizType) -> str:
    """What the job's row keeps of its own request, with the content type of its bytes; without one where it has none.

    Raises InvalidJob where there is one without the other, or the biz type takes only JSON.
    """
    if raw is None:
        if content_type:
            raise InvalidJob("content_type", "no_bytes", "content_type is for exact bytes or a text; JSON has its own")
        return read_own_request(text)._replace(content_type="").text() if text else text
    if biz_type.target == BizType.Target.CELERY:
        told = f"body must be JSON: {biz_type.code} runs a Celery task, which takes it as its arguments"
        raise InvalidJob("body", "target", told)
    own = read_own_request(text) if text else OwnRequest()
    return own._replace(content_type=content_type or ANY_BYTES).text()


def content_type_of(request: str) -> str:
    """The content type of a job's exact bytes, from what its row keeps of its own request."""
    return read_own_request(request).content_type


def shown_bytes(raw: bytes | memoryview | None, request: str) -> Shown:
    """The exact bytes of a job as JSON can have them, with their content type; all None where its body is JSON."""
    if raw is None:
        return Shown()
    raw, kind = bytes(raw), content_type_of(request)
    text = text_of(raw)
    return Shown(None, b64encode(raw).decode(), kind) if text is None else Shown(text, None, kind)


def written_body(row: Job | Series) -> str | None:
    """The body of a job or a series as a text, JSON or not; None where it is bytes that are no text."""
    return row.body if row.raw is None else text_of(bytes(row.raw))
