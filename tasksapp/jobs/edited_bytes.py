"""What becomes of the body of a job or a series that has exact bytes, or is to have some."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from tasksapp.errors import InvalidJob
from tasksapp.jobs.exact_bytes import content_type_of, with_content_type
from tasksapp.jobs.requests import RULES
from tasksapp.models import Job, Series


class Unset(Enum):
    """What stands for a field that is left as it is; None means something for some of them."""

    UNSET = "as it is"


UNSET: Final = Unset.UNSET


def edited_bytes(
    row: Job | Series, values: Mapping[str, Any], *, raw: Any = UNSET, content_type: Any = UNSET
) -> dict[str, Any]:
    """The columns of the body that change beside ``values``; none where there are exact bytes neither before nor after.

    Args:
        row: as it is stored.
        values: the columns that are to change; with its ``body`` JSON takes the place of exact bytes.
        raw: the exact bytes that are given.
        content_type: what is given as theirs.

    Raises InvalidJob.
    """
    if row.raw is None and raw is UNSET and content_type is UNSET:
        return {}
    if "body" in values and raw is not UNSET:
        raise InvalidJob("body", "conflict", "give a JSON body or exact bytes, not both")
    kind = RULES["content_type"]("" if content_type is UNSET else content_type)
    has: bytes | None = None if row.raw is None else bytes(row.raw)
    if "body" in values:
        has = None
    elif raw is not UNSET:
        has = RULES["raw"](raw)
        if has is None:
            raise InvalidJob("raw", "required", "raw may not be None: give a body")
    if raw is UNSET and has is not None and content_type is UNSET:
        kind = content_type_of(row.request)
    text = with_content_type(values.get("request", row.request), raw=has, content_type=kind, biz_type=row.biz_type)
    return {"raw": has, "request": text, **({} if has is None else {"body": "null"})}
