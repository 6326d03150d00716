"""The rules of a job's fields: each gives a value, or names the field and the fault."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksapp.errors import InvalidJob
from tasksapp.jobs.requests import RULES
from tasksapp.jobs.validation import MAX_DELAY, due_time

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

numbers = st.integers() | st.floats()
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
anything = json_values | st.binary() | st.datetimes() | st.timedeltas() | st.just(object())


@given(name=st.sampled_from(sorted(RULES)), value=anything)
def test_a_rule_gives_a_value_or_names_its_field(name: str, value: Any) -> None:
    refusal = None
    try:
        RULES[name](value)
    except InvalidJob as error:
        refusal = error

    if refusal is not None:
        assert refusal.field == name
        assert refusal.code
        assert name in refusal.message
        assert len(refusal.message) < 250


@given(json_values)
def test_a_body_is_stored_as_it_is_or_not_at_all(value: Any) -> None:
    try:
        text = RULES["body"](value)
    except InvalidJob:
        return

    assert json.loads(text) == value
    assert "\x00" not in text
    assert "\\u0000" not in text.replace("\\\\", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # compact, in the order given, as people write
        ({"b": 1, "a": [1.5, True, None]}, '{"b":1,"a":[1.5,true,null]}'),
        ("Zürich 🚲", '"Zürich 🚲"'),
        (None, "null"),
        # the longest whole numbers
        ([2**64 - 1, -(2**63)], "[18446744073709551615,-9223372036854775808]"),
        # a backslash and some letters are not NUL
        ("\\u0000", '"\\\\u0000"'),
    ],
)
def test_a_body_is_compact_utf_8(value: Any, text: str) -> None:
    assert RULES["body"](value) == text


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-02T03:04:05Z", NOW),
        ("2026-01-02T04:04:05+01:00", NOW),
        ("2026-01-02 03:04:05.000+00", NOW),
        (NOW.astimezone(timezone(timedelta(hours=-9))), NOW),
        (None, None),
    ],
)
def test_a_due_time_is_a_moment_in_utc(value: Any, moment: datetime | None) -> None:
    found = RULES["due_at"](value)

    assert found == moment
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2026-01-02", "no_time_zone"),
        ("2026-02-30T00:00:00Z", "invalid"),
        ("2026-01-02T03:04:05Z" + " " * 99, "invalid"),
        (1_767_323_045, "invalid"),
        (True, "invalid"),
        (datetime(2026, 1, 2), "no_time_zone"),  # noqa: DTZ001  the fault that is refused
        ("0001-01-01T00:00:00+05:00", "out_of_range"),
        ("0001-01-01T00:00:00Z", "out_of_range"),  # no date for it west of Greenwich
        ("9999-12-31T23:59:59Z", "out_of_range"),  # no date for it east of Greenwich
    ],
)
def test_what_is_no_moment_is_refused(value: Any, code: str) -> None:
    with pytest.raises(InvalidJob) as refusal:
        RULES["due_at"](value)

    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        (0, timedelta(0)),
        (1.5, timedelta(seconds=1.5)),
        (timedelta(days=1), timedelta(days=1)),
        (100 * 365.25 * 86_400, MAX_DELAY),
        (None, None),
    ],
)
def test_a_delay_is_seconds_or_a_timedelta(value: Any, wait: timedelta | None) -> None:
    assert RULES["delay"](value) == wait


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (-0.001, "negative"),
        (math.inf, "invalid"),
        (10**400, "too_far"),
        (100 * 365.25 * 86_400 + 1, "too_far"),
        ("60", "invalid"),
        (True, "invalid"),
    ],
)
def test_a_delay_that_cannot_be_is_refused(value: Any, code: str) -> None:
    with pytest.raises(InvalidJob) as refusal:
        RULES["delay"](value)

    assert refusal.value.code == code


def test_a_job_is_due_at_once_at_a_time_or_after_a_while() -> None:
    due = NOW + timedelta(hours=1)

    assert due_time(due=None, wait=None, now=NOW) == NOW
    assert due_time(due=due, wait=None, now=NOW) == due
    assert due_time(due=None, wait=timedelta(hours=1), now=NOW) == due


def test_no_job_is_due_in_more_than_100_years() -> None:
    with pytest.raises(InvalidJob) as refusal:
        due_time(due=NOW + MAX_DELAY + timedelta(seconds=1), wait=None, now=NOW)

    assert (refusal.value.field, refusal.value.code) == ("due_at", "too_far")


@pytest.mark.parametrize("value", [0, False, [], {}, 42])
def test_a_business_key_is_a_string(value: Any) -> None:
    with pytest.raises(InvalidJob, match="must be a string"):
        RULES["biz_id"](value)


def test_no_business_key_is_an_empty_one() -> None:
    assert RULES["biz_id"](None) == RULES["biz_id"]("") == ""


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        # all zeros, a forbidden version, capitals, half of it
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", False),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", False),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", False),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736", False),
        (None, False),
    ],
)
def test_a_trace_context_is_kept_if_it_is_one(value: Any, *, kept: bool) -> None:
    assert RULES["traceparent"](value) == (value if kept else "")
