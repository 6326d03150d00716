"""What the OpenAPI document says of the API as a whole, and how it groups operations."""

from __future__ import annotations

from typing import Any

DESCRIPTION = """\
Create a job now; its callback is sent when it is due.

**Callers** send an API key: `Authorization: Bearer dh_…`. A key has scopes; each operation names the one that it takes,
and answers 403 (`scope_missing`) without it. What belongs to another tenant, or to a biz type that the key is not for,
is answered as if it did not exist: 404.

**Errors** are problem documents (RFC 9457): `code` is for machines, `detail` for people, `errors` names each field, and
`type` is the address of a page that says what to do.

**Lists** come in pages; `next` is the address of the following one, or null. **Times** are ISO 8601 with a time zone.

**Receivers** find what is sent to them, and what they may answer, under *Webhooks*.
"""

LICENSE = {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"}
CONTACT = {"name": "DelayHub", "url": "https://github.com/delayhub/delayhub"}

#: By the tag, what its operations are about.
_TAGS = {
    "Jobs": "What is to happen, when, and how it went.",
    "Claims": "Jobs that are pulled: taken by their receivers, instead of sent to them.",
    "Series": "Jobs that repeat: when, from when until when, and with what.",
    "Operations": "One verb for all jobs that match a filter: planned, paced, stopped.",
    "Biz types": "Kinds of jobs: where they go, how often they are tried, how fast, and with which secrets.",
    "API keys": "Who may call this API, and what they may do.",
    "Numbers": "Counts, series, forecasts, issues, and whether jobs are delivered.",
    "Audit": "Who did what.",
    "Callbacks": "What DelayHub sends to receivers.",
}
TAGS: list[dict[str, Any]] = [{"name": name, "description": description} for name, description in _TAGS.items()]

_TAG_OF = {
    "jobs": "Jobs",
    "claims": "Claims",
    "operations": "Operations",
    "series": "Series",
    "biz-types": "Biz types",
    "biz-type-definitions": "Biz types",
    "keys": "API keys",
    "audit": "Audit",
}


def tag_of(path: str) -> str:
    """The tag of an operation, by its path below the version: ``/v1/jobs/{id}`` is one of Jobs."""
    _, _, first, *rest = path.split("/")
    # A job by its business key is a job, wherever its address begins.
    return "Jobs" if rest[1:2] == ["jobs"] else _TAG_OF.get(first, "Numbers")
