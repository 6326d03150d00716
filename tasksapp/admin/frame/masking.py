"""Bodies as people see them: indented where they are JSON, masked for a person who may not see them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.audit import BODIES, CHANGED
from tasksapp.access.permissions import VIEW_BODY
from tasksapp.jobs.exact_bytes import content_type_of, written_body
from tasksapp.jobs.masking import as_shown
from tasksapp.models import Job, Series

#: The parts of JSON; what stands between them are blanks.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+|[{}\[\],:]')
_OPENING, _CLOSING = "{[", "}]"
#: Bytes of a line of digits, which fits on a phone, and of all lines; and bytes that are shown in base64.
LINE_BYTES, DUMP_BYTES, BASE64_BYTES = 8, 256, 3_072
_DIGITS = '<pre class="delayhub-body delayhub-digits" tabindex="0" dir="ltr">{}</pre>'


def may_see_bodies(request: HttpRequest) -> bool:
    """Whether the person may see what jobs carry and what receivers answer."""
    return request.user.has_perm(VIEW_BODY)


def masked_body(request: HttpRequest, text: str) -> SafeString:
    """A body or an answer, indented where it is JSON; its length for a person who may not see it."""
    if not may_see_bodies(request):
        return hidden(text)
    return format_html('<pre class="delayhub-body">{}</pre>', indented(text))


def hidden(text: str | bytes) -> SafeString:
    """What stands in place of what a person may not see: how long it is, and nothing else."""
    size = len(text.encode() if isinstance(text, str) else text)
    return format_html('<span class="delayhub-quiet">{}</span>', _("hidden (%(size)s bytes)") % {"size": f"{size:,}"})


def masked_changes(request: HttpRequest, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The ``before`` or ``after`` of an audit entry; without the text of a body for a person who may not see it."""
    if may_see_bodies(request):
        return dict(changes)
    masked = {name: _without_text(value) if name in BODIES else value for name, value in changes.items()}
    return {**masked, "request": CHANGED} if masked.get("request") else masked


def _without_text(value: Any) -> Any:
    # An entry keeps a body as its length, its hash and perhaps its text; see tasksapp.access.audit.
    if isinstance(value, Mapping):
        # The hash goes too: short bodies can be found by it.
        return {"bytes": value["bytes"]} if "bytes" in value else {}
    return None


def indented(text: str) -> str:
    """The JSON in lines of their own; any other text unchanged.

    Numbers and strings are copied, never read: ``1e2`` would come back as 100.0, 90071992547409931.0 with other digits,
    and ``\\u00e9`` as another text than was signed.
    """
    try:
        json.loads(text, parse_int=_skip, parse_float=_skip)
    except (ValueError, RecursionError):
        return text
    return "".join(_pieces(_TOKEN.findall(text)))


def _skip(digits: str) -> str:
    """No number is made of the digits: Python refuses to read very long ones."""
    return digits


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for part in tokens:
        if part in _CLOSING:
            depth -= 1
            if before not in _OPENING:
                yield _line(depth)
        elif before and before in _OPENING:
            yield _line(depth)
        yield part
        if part in _OPENING:
            depth += 1
        elif part == ",":
            yield _line(depth)
        elif part == ":":
            yield " "
        before = part


def _line(depth: int) -> str:
    return "\n" + "  " * depth


class BodyCard(NamedTuple):
    """A body as a person may see it.

    Args:
        shown: it, indented where it is JSON, in digits where it is no text.
        source: its exact text, or its first bytes in base64; '' for a person who may not see it.
        content_type: of exact bytes; '' where it is JSON, and for a person who may not see it.
        size: of bytes that are no text, how many there are, in words.
        left_out: what ``shown`` and ``source`` leave out of them, in words.
    """

    shown: SafeString
    source: str = ""
    content_type: str = ""
    size: str = ""
    left_out: str = ""


def body_card(request: HttpRequest, row: Job | Series) -> BodyCard:
    """The body of the job, or of the jobs of the series, for the person; of one with masked fields no exact text."""
    sees = may_see_bodies(request)
    shown = as_shown(row)
    if shown is not row:
        return BodyCard(masked_body(request, shown.body))
    if row.raw is None:
        return BodyCard(masked_body(request, row.body), row.body if sees else "")
    raw = bytes(row.raw)
    if not sees:
        return BodyCard(hidden(raw))
    kind, text = content_type_of(row.request), written_body(row)
    if text is not None:
        return BodyCard(masked_body(request, text), text, kind)
    values = {"dump": f"{min(len(raw), DUMP_BYTES):,}", "base64": f"{min(len(raw), BASE64_BYTES):,}"}
    left_out = _("The first %(dump)s bytes, and the first %(base64)s in base64.") % values
    return BodyCard(
        format_html(_DIGITS, dump(raw[:DUMP_BYTES])),
        b64encode(raw[:BASE64_BYTES]).decode(),
        kind,
        _("%(size)s bytes that are no text") % {"size": f"{len(raw):,}"},
        left_out if len(raw) > DUMP_BYTES else "",
    )


def dump(raw: bytes) -> str:
    """The bytes in lines: where each begins, its bytes in hexadecimal digits, and those that are letters of ASCII."""
    return "\n".join(
        f"{start:04x} {line.hex(' '):{3 * LINE_BYTES - 1}} {''.join(chr(b) if 32 <= b < 127 else '.' for b in line)}"
        for start in range(0, len(raw), LINE_BYTES)
        for line in [raw[start : start + LINE_BYTES]]
    )


class ShownOnce(str):
    """A text that logs of templates and pages for errors do not hold: they write a value's ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<shown once>"
