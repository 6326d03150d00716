"""Masked fields: values of a job's body that its receiver gets and nobody is shown, and what stands in their place.

A biz type names them by JSON Pointers (RFC 6901), in which ``*`` stands for each element of a list and each member of
an object. Bodies are masked where they are shown. Texts that come back from receivers, tasks and pullers are masked
before they are stored: the values are looked for in them as they are, and as JSON, URLs, HTML and Python write them.
"""

from __future__ import annotations

import hmac
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from tasksapp.models import BizType
from tasksapp.models.encrypted_text import derived_key

#: What stands in place of a value; behind it the mark by which long values can be compared.
MASK = "[masked]"
_MASK = re.compile(r"\[masked(?: [0-9a-f]{12})?\]")
#: A shorter value has no mark: there are so few of them that one could try them all.
SHORTEST_MARKED = 12
#: Values of one body that are looked for in texts. Where there are more, the whole text is masked.
MOST_VALUES = 200
#: Of a value that a text was cut within, so many characters are known again.
SHORTEST_REST = 4
#: The longest pointer of a biz type, and how many it may have.
LONGEST_POINTER, MOST_POINTERS = 200, 50
_POINTER = re.compile(r"(?:/(?:[^/~\x00-\x1f]|~[01])*)*")

#: The parts of JSON; what stands between them are blanks.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+|[{}\[\],:]')
_LETTER = "[^\\W_]"
#: Signs that Python's quote, encodeURIComponent and encodeURI leave as they are.
_IN_URLS = ("/", "", "!'()*", "!'()*;/?:@&=+$,#")
#: Signs that writers of JSON escape, for the sake of HTML: those of Go and Ruby, Java, and .NET.
_IN_JSON = [str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in signs}) for signs in ("<>&", "<>&'=", "<>&'+")]
Hide = Callable[[str], str]


def pointer_complaint(pointers: Any) -> str | None:
    """What is wrong with the pointers of a biz type, in English; None where nothing is."""
    if not isinstance(pointers, list) or len(pointers) > MOST_POINTERS:
        return f'This must be a list of at most {MOST_POINTERS} JSON Pointers, such as ["/card/number"].'
    for pointer in pointers:
        if not isinstance(pointer, str) or len(pointer) > LONGEST_POINTER or not _POINTER.fullmatch(pointer):
            return f"{pointer!r:.80} is no JSON Pointer, such as /card/number or /items/*/name."
    return None


def not_masked_by(pointers: Sequence[str], others: Sequence[str], *, within: str) -> list[str]:
    """Those of the pointers that others do not have, where the body that they lead into stands within another.

    Args:
        pointers: the masked fields of a body.
        others: the masked fields of the body that it stands in.
        within: the pointer to where it stands.
    """
    known = [_steps(pointer) for pointer in others]
    return [one for one in pointers if not any(_leads(steps, _steps(f"{within}{one}")) for steps in known)]


class Value(NamedTuple):
    """A value in the text of a JSON: its path, and where it begins and ends."""

    path: tuple[str, ...]
    begin: int
    end: int


class Masks:
    """What hides the masked fields of bodies of one biz type that were made on one day.

    Equal values of a field have equal marks within a day, and others on another day, in another field or biz type.

    Args:
        biz_type: the biz type, which has masked fields.
        made_at: when the job or the series was made.
        pointers: those of its masked fields that are meant; None for all.
    """

    def __init__(self, biz_type: BizType, *, made_at: datetime, pointers: Sequence[str] | None = None) -> None:
        meant = biz_type.masked_fields if pointers is None else pointers
        self._pointers = {pointer: _steps(pointer) for pointer in meant}
        self._scope = f"{biz_type.pk} {made_at:%Y-%m-%d}"

    def shown(self, body: str) -> str:
        """The JSON with masks in place of the fields; all else as it was written."""
        found = [(value, pointer) for value in _values(body) if (pointer := self._pointer_of(value.path)) is not None]
        shown, end = [], len(body)
        # From the last to the first; what stands inside of another comes before it.
        for value, pointer in reversed(found):
            if value.end <= end:
                shown += [body[value.end : end], json.dumps(self._mask(pointer, body[value.begin : value.end]))]
                end = value.begin
        return "".join([body[:end], *reversed(shown)])

    def mask_within(self, body: str) -> str | None:
        """Where in the body a mask stands that one of the fields was shown with; None for nowhere."""
        for value in _values(body):
            written = body[value.begin : value.end]
            if self._pointer_of(value.path) is not None and _MASK.fullmatch(_read(written)):
                return "".join(f"/{step}" for step in value.path)
        return None

    def hiding(self, body: str) -> Hide:
        """Gives a text with masks in the place of the body's masked values, wherever they stand in it."""
        masks: dict[str, str] = {}
        for value in _values(body):
            pointer = self._pointer_above(value.path)
            if pointer is not None and body[value.begin] not in "{[":
                masks.setdefault(body[value.begin : value.end], self._mask(pointer, body[value.begin : value.end]))
        if len(masks) > MOST_VALUES:
            return hide_all
        forms = {form: mask for written, mask in masks.items() for form in _forms(written)}
        return _Hiding(forms) if forms else _as_it_is

    def _pointer_of(self, path: Sequence[str]) -> str | None:
        """The pointer that leads to the value of that path."""
        known = self._pointers.items()
        return next((pointer for pointer, steps in known if len(steps) == len(path) and _leads(steps, path)), None)

    def _pointer_above(self, path: Sequence[str]) -> str | None:
        """The pointer that leads to the value of that path, or to what it stands in."""
        return next((pointer for pointer, steps in self._pointers.items() if _leads(steps, path)), None)

    def _mask(self, pointer: str, written: str) -> str:
        value = _read(written)
        if len(value) < SHORTEST_MARKED:
            return MASK
        about = f"{self._scope} {pointer}\0{value}".encode(errors="surrogatepass")
        return f"[masked {hmac.digest(derived_key('masked fields'), about, 'sha256').hex()[:12]}]"


def masks_of(biz_type: BizType, *, made_at: datetime) -> Masks | None:
    """What hides its masked fields; None where it has none."""
    return Masks(biz_type, made_at=made_at) if biz_type.masked_fields else None


def hide_but(text: str, hide: Hide, *, others: Sequence[str], within: str) -> str:
    """The JSON without what ``hide`` finds in it; the values of some fields of the body that it stands in stay.

    Args:
        text: the JSON.
        hide: what puts masks into texts.
        others: the fields of that body whose values stay.
        within: the pointer to where the JSON stands in it.
    """
    known, above = [_steps(pointer) for pointer in others], _steps(within)
    if any(_leads(steps, above) for steps in known):
        return text
    if hide is hide_all:
        return json.dumps(MASK)
    kept = [value for value in _values(text) if any(_leads(steps, (*above, *value.path)) for steps in known)]
    # A list keeps the sign of JSON, so that a number alone becomes a text.
    return _TOKEN.sub(
        lambda found: (
            found[0]
            if found[0] in "{}[],:" or any(value.begin <= found.start() < value.end for value in kept)
            else hide(f"[{found[0]}]")[1:-1]
        ),
        text,
    )


def hide_all(text: str) -> str:
    """A mask in the place of the whole text; '' for ''."""
    return MASK if text else ""


def _as_it_is(text: str) -> str:
    return text


class _Hiding:
    """Puts masks into texts.

    Args:
        masks: by what a value is written as, its mask.
    """

    def __init__(self, masks: dict[str, str]) -> None:
        self._masks = {form.lower(): mask for form, mask in masks.items()}
        longest_first = sorted(masks, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_alone, longest_first)), re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """The text with masks in the place of the values. JSON stays JSON."""
        if _is_json(text):
            return _TOKEN.sub(self._in_json, text)
        return self._without_rest(self._pattern.sub(self._mask, text))

    def _mask(self, found: re.Match[str]) -> str:
        return self._masks.get(found[0].lower(), MASK)

    def _in_json(self, found: re.Match[str]) -> str:
        written = found[0]
        if written[0] != '"':
            mask = self._masks.get(written.lower())
            return written if mask is None else json.dumps(mask)
        text = _read(written)
        hidden = self._pattern.sub(self._mask, text)
        return written if hidden == text else json.dumps(hidden)

    def _without_rest(self, text: str) -> str:
        """The text without the beginning of a value that it was cut within, at its end."""
        ends = text.rstrip("\ufffd").lower()
        rest = ends[-SHORTEST_REST:]
        if len(rest) < SHORTEST_REST:
            return text
        for form, mask in self._masks.items():
            place = form.find(rest)
            while place >= 0:
                known = place + len(rest)
                if known < len(form) and ends.endswith(form[:known]):
                    return text[: len(ends) - known] + mask
                place = form.find(rest, place + 1)
        return text


def _is_json(text: str) -> bool:
    if text[:1] not in {"{", "[", '"'}:
        return False
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _alone(form: str) -> str:
    """The pattern of a form. A short one or a number is no part of a longer word: 123 does not stand in 41236."""
    if len(form) >= SHORTEST_MARKED:
        return re.escape(form)
    return f"(?<!{_LETTER}){re.escape(form)}(?!{_LETTER})"


def _forms(written: str) -> Iterator[str]:
    """How a value may stand in a text, by how it is written in JSON; none for true, false, null and blanks."""
    value = _read(written)
    if written in {"true", "false", "null"} or not value.strip():
        return
    yield value
    if written[0] == '"':
        in_json = {written[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        in_json |= {form.translate(signs) for signs in _IN_JSON for form in in_json}
        in_json |= {json.dumps(form)[1:-1] for form in in_json}  # in a string of a JSON
        yield from (*in_json, *(form.replace("/", "\\/") for form in in_json))
        in_html = html.escape(value)
        yield from (repr(value)[1:-1], in_html, in_html.replace("&#x27;", "&#39;"), html.escape(value, quote=False))
        yield in_html.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        sent = value.encode(errors="surrogatepass")
        yield from (*(quote(sent, safe=signs) for signs in _IN_URLS), quote_plus(sent), quote_plus(sent, safe="*"))
    elif len(written) < 40:  # Python refuses to read very long ones
        yield repr(json.loads(written))


def _read(written: str) -> str:
    """The text of a JSON string; what is no string as it is written."""
    return str(json.loads(written, strict=False)) if written[0] == '"' else written


def _steps(pointer: str) -> tuple[str, ...]:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def _leads(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the steps lead to the value of the path, or to what it stands in."""
    return len(steps) <= len(path) and all(step in {"*", taken} for step, taken in zip(steps, path, strict=False))


def _values(text: str) -> Iterator[Value]:
    """Every value of the JSON; those inside of another come before it. A member that is there twice comes twice."""
    path: list[str] = []
    begins: list[int] = []
    is_list: list[bool] = []
    awaits_name = False
    for found in _TOKEN.finditer(text):
        part = found[0]
        if part in "{[":
            begins.append(found.start())
            is_list.append(part == "[")
            path.append("0")
            awaits_name = part == "{"
        elif part in "}]":
            path.pop()
            is_list.pop()
            awaits_name = False
            yield Value(tuple(path), begins.pop(), found.end())
        elif part == ",":
            awaits_name = not is_list[-1]
            if is_list[-1]:
                path[-1] = str(int(path[-1]) + 1)
        elif awaits_name:
            path[-1], awaits_name = _read(part), False
        elif part != ":":
            yield Value(tuple(path), *found.span())
