"""The fields of a job that callers give, each said once: clients, the command line, delayed tasks and sites take them.

Beside its type stand a field's words, which ``--help`` and OpenAPI show, and for a whole number the range that it is
of. What a field may be is for the site's rules to say.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypedDict, get_args, get_origin, get_type_hints


class OwnRequest(TypedDict, total=False):
    """What the callback of one job has of its own, in place of what its biz type says or beside it."""

    #: At most that of the biz type.
    timeout_seconds: float | None
    #: Those that hold secrets, such as ``Authorization``, come back as ``(hidden)``.
    headers: Mapping[str, str] | None
    #: Of a host that the biz type names.
    url: str | None


class Carried(TypedDict, total=False):
    """What a job carries, whether it is a callback, a task or of a series: a new field most often belongs here."""

    priority: Annotated[int | None, "0 goes first, 9 last. By default as the biz type says.", range(10)]
    max_attempts: Annotated[int | None, "By default as many as the biz type says.", range(1, 1_001)]
    flow_key: Annotated[str, "Whose job it is, such as a customer: keys of a biz type share it fairly."]


class Content(Carried, total=False):
    """What a job carries whose caller gives it a body; a series has the same for its jobs."""

    body: Annotated[Any, "Any JSON value of up to 64 KB, which the receiver gets."]
    raw: Annotated[bytes | None, "The exact bytes of the body, in the place of JSON."]
    content_type: Annotated[str | None, "Of a body that is no JSON, such as application/xml."]
    request: Annotated[
        OwnRequest | None, "Of a callback: a timeout, headers and a URL of its own. By default as the biz type says."
    ]


class Times(TypedDict, total=False):
    """When a job is due, and its end. With neither ``due_at`` nor ``delay``, it is due at once."""

    due_at: Annotated[datetime | str | None, "When it is due, with a time zone."]
    delay: Annotated[timedelta | float | None, "In the place of due_at: how long from now, in seconds."]
    expires_at: Annotated[datetime | str | None, "No attempt begins from then on; later than it is due."]


class Keys(TypedDict, total=False):
    """By which keys a job is found, and which requests are the same."""

    biz_id: Annotated[str, "The business key, such as an order number."]
    idempotency_key: Annotated[str | None, "The same request with the same key makes one job."]
    debounce_key: Annotated[
        str | None, "A later request with the same key replaces this one until its first attempt begins."
    ]
    debounce_max_wait: Annotated[
        timedelta | float | None,
        "How long after the first request with the debounce key later ones may put the job off, in seconds."
        " By default as the biz type says, or ten times the delay, in whole days, at least one.",
    ]


class JobContent(Times, Content, total=False):
    """When a new job is due, and what it carries."""


class JobFields(JobContent, Keys, total=False):
    """The fields of a new job, beside its biz type."""


class JobRequest(JobFields, total=False):
    """A job to create, as one of many."""

    biz_type: Annotated[str, "The code of a biz type."]


class JobChange(JobContent, total=False):
    """What may be changed of a pending job: its time (one of the two), and what it carries.

    Of its own request a header that is given as ``(hidden)`` stays as it is.
    """

    biz_id: Annotated[str, "The business key, such as an order number."]


class ScheduleOptions(Times, Keys, Carried, total=False):
    """What a caller may say of the job of a delayed task, beside the call itself."""


@dataclass(frozen=True, kw_only=True)
class WithExactBytes:
    """What has a body in JSON, or its exact bytes."""

    body: Annotated[Any, "JSON, sent to the receiver as its caller wrote it. None also for a body of exact bytes."]
    body_text: Annotated[str | None, "Exact bytes that are a text in UTF-8. None: there are none."] = None
    body_base64: Annotated[str | None, "Exact bytes that are no text, in base64. None: there are none."] = None
    content_type: Annotated[str | None, "Of the exact bytes. None: the body is JSON."] = None

    @property
    def raw(self) -> bytes | None:
        """The exact bytes of the body; None where it is JSON."""
        if self.body_text is not None:
            return self.body_text.encode()
        return None if self.body_base64 is None else b64decode(self.body_base64)


@dataclass(frozen=True, kw_only=True)
class Carries(WithExactBytes):
    """What a job or a series carries, as a site shows it. A new field has a default: an older site does not show it."""

    biz_id: Annotated[str, "The business key, by which its maker knows it."]
    priority: Annotated[int | None, "0 goes first, 9 last. None: the biz type's own."]
    max_attempts: Annotated[int | None, "None: as the biz type says."]
    flow_key: Annotated[str, "Whose job it is, such as a customer: keys of a biz type share it fairly."]
    request: Annotated[
        Mapping[str, Any] | None,
        "Its own timeout, headers and URL, secrets as `(hidden)`. None: all as the biz type says.",
    ] = None


class Field(NamedTuple):
    """A field of a mapping: its name, the types that it may have, its words, and the range of a whole number."""

    name: str
    kinds: tuple[Any, ...]
    words: str
    within: range | None


def fields_of(mapping: type) -> Iterator[Field]:
    """The fields of one of the mappings, those of its bases first."""
    for name, hint in get_type_hints(mapping, include_extras=True).items():
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        words = next((note for note in notes if isinstance(note, str)), "")
        within = next((note for note in notes if isinstance(note, range)), None)
        yield Field(name, get_args(kind) or (kind,), words, within)
