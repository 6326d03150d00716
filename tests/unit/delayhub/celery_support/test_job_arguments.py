"""Arguments of jobs: what Celery's messages carry comes back as it was; what would change is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from delayhub.celery_support.job_arguments import decoded, encoded


@pytest.mark.parametrize(
    "value",
    [
        None, True, 7, 2.5, "order", [1, [2]], {"a": {"b": 1}},
        Decimal("12.30"), date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, tzinfo=UTC), time(3, 4),
        UUID(int=7), b"raw", b"\xff\x00", {"total": [Decimal("1.10")]},
    ],
)  # fmt: skip
def test_an_argument_comes_back_as_it_was(value: Any) -> None:
    text = json.dumps(encoded([value], {"named": value}))

    assert decoded(text) == {"args": [value], "kwargs": {"named": value}}


def test_a_tuple_becomes_a_list_as_in_every_message() -> None:
    assert encoded([(1, (2,))], {}) == {"args": [[1, [2]]], "kwargs": {}}


@pytest.mark.parametrize(
    ("args", "kwargs", "sentence"),
    [
        ([{1: "a"}], {}, r"args\[0\] has the key 1, which JSON would turn into text"),
        ([], {"order": {"lines": [{2: 1}]}}, r"order\['lines'\]\[0\] has the key 2"),
        ([1, {1, 2}], {}, r"args\[1\] cannot be an argument of a job"),
        ([object()], {}, r"args\[0\] cannot be an argument of a job"),
        ([float("nan")], {}, r"args\[0\] cannot be an argument of a job"),
    ],
)
def test_what_json_would_change_or_lose_is_refused(args: list[Any], kwargs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        encoded(args, kwargs)
