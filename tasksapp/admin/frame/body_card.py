"""What the page of a job or a series shows of its body: JSON and texts as texts, others as digits, to some nothing."""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.frame.masking import hidden, masked_body, may_see_bodies
from tasksapp.jobs.exact_bytes import content_type_of, written_body
from tasksapp.models import Job, Series

#: Bytes of a line of digits, which fits on a phone, and of all lines; and bytes that are shown in base64.
LINE_BYTES, DUMP_BYTES, BASE64_BYTES = 8, 256, 3_072

_DIGITS = '<pre class="delayhub-body delayhub-digits" tabindex="0" dir="ltr">{}</pre>'


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
    """The body of the job, or of the jobs of the series, for the person."""
    sees = may_see_bodies(request)
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
