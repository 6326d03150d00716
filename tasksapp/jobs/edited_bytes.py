"""What becomes of the body of a job or a series that has exact bytes, or is to have some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasksapp.errors import InvalidJob
from tasksapp.jobs.exact_bytes import content_type_of, with_content_type
from tasksapp.jobs.requests import RULES
from tasksapp.models import Job, Series


def edited_bytes(row: Job | Series, values: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """The columns of the body that change beside ``values``; none where there are exact bytes neither before nor after.

    Args:
        row: as it is stored.
        values: the columns that are to change; with its ``body`` JSON takes the place of exact bytes.
        given: ``raw``, the exact bytes, and their ``content_type``, as far as they are given.

    Raises InvalidJob.
    """
    if row.raw is None and not given:
        return {}
    if "body" in values and "raw" in given:
        raise InvalidJob("body", "conflict", "give a JSON body or exact bytes, not both")
    kind = RULES["content_type"](given.get("content_type"))
    has: bytes | None = None if row.raw is None else bytes(row.raw)
    if "body" in values:
        has = None
    elif "raw" in given:
        has = RULES["raw"](given["raw"])
        if has is None:
            raise InvalidJob("raw", "required", "raw may not be None: give a body")
    if has is not None and not given:
        kind = content_type_of(row.request)
    text = with_content_type(values.get("request", row.request), raw=has, content_type=kind, biz_type=row.biz_type)
    return {"raw": has, "request": text, **({} if has is None else {"body": "null"})}
