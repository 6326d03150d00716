"""What an edit makes of exact bytes, for jobs and series alike."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.errors import InvalidJob
from tasksapp.jobs.editing import edited_bytes
from tasksapp.jobs.exact_bytes import content_type_of
from tasksapp.models import BizType, Job, Series


def rows(raw: bytes | None, content_type: str) -> list[Job | Series]:
    biz_type = BizType(code="order.close")
    stored = edited_bytes(Job(biz_type=biz_type), {}, raw=raw, content_type=content_type) if raw is not None else {}
    return [kind(biz_type=biz_type, **stored) for kind in (Job, Series)]


@pytest.mark.parametrize(
    ("raw", "values", "given", "has", "content_type"),
    [
        (None, {}, {"raw": b"a"}, b"a", "application/octet-stream"),
        (b"a", {}, {"raw": b"b", "content_type": "text/plain"}, b"b", "text/plain"),
        (b"a", {}, {"content_type": "text/plain"}, b"a", "text/plain"),
        (b"a", {"request": ""}, {}, b"a", "application/xml"),
        (b"a", {"body": "[1]"}, {}, None, ""),
    ],
)
def test_bytes_and_json_take_each_others_place(
    raw: bytes | None, values: dict[str, Any], given: dict[str, Any], has: bytes | None, content_type: str
) -> None:
    for row in rows(raw, "application/xml"):
        # What a request of its own comes with has no content type, which is that of the row.
        changed = edited_bytes(row, values, **given)

        assert changed["raw"] == has
        assert content_type_of(changed["request"]) == content_type
        assert ("body" in changed) == (has is not None)


@pytest.mark.parametrize(
    ("values", "given", "field"),
    [
        ({"body": "1"}, {"raw": b"a"}, "body"),
        ({}, {"raw": None}, "raw"),
        ({"body": "1"}, {"content_type": "text/plain"}, "content_type"),
    ],
)
def test_one_without_the_other_is_refused(values: dict[str, Any], given: dict[str, Any], field: str) -> None:
    for row in rows(b"a", "application/xml"):
        with pytest.raises(InvalidJob) as refusal:
            edited_bytes(row, values, **given)

        assert refusal.value.field == field


def test_json_stays_json() -> None:
    for row in rows(None, ""):
        assert edited_bytes(row, {"body": "1"}) == {}
