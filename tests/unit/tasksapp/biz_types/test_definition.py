"""The definition of a biz type as JSON: whole, strict, and with the admin's rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasksapp.biz_types.definition import COLUMNS, define, definition_of
from tasksapp.errors import InvalidBizType
from tasksapp.models import BizType

#: What no definition has: secrets, whose row it is, its state and its times.
STATE = {
    "id", "tenant", "queue_name", "created_at", "updated_at", "paused_until", "paused_by", "pause_reason", "resumed_at",
    "auth_secret_sealed", "client_certificate_sealed", "certificate_subject", "certificate_ends_at",
    "signing_secret_sealed", "previous_signing_secret_sealed", "previous_secret_until",
    "signing_key_sealed", "previous_signing_key_sealed", "public_key", "previous_public_key", "previous_key_until",
    "has_tombstones", "declared", "revision", "moved_to",
}  # fmt: skip


def valid(**fields: Any) -> BizType:
    return BizType(**{"code": "a", "url": "https://shop.example/hooks", **fields})


def test_every_column_that_people_set_is_part_of_it() -> None:
    columns = {column.name for column in BizType._meta.concrete_fields}

    assert {column.name for column in COLUMNS.values()} == columns - STATE


def test_it_comes_back_as_it_was() -> None:
    original = valid(max_age=timedelta(seconds=1.5), retention=None, headers={"X-A": "1"}, backoff_list=[1, 2])
    copy = BizType()

    define(copy, definition_of(original))

    assert definition_of(copy) == definition_of(original)
    assert (copy.max_age, copy.retention) == (timedelta(seconds=1.5), None)


def test_it_names_the_columns_that_changed() -> None:
    assert define(valid(), {"code": "a", "max_age_seconds": 5, "weight": 1}) == {"max_age"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("weight", True, "must be a whole number, got True"),
        ("weight", "1", "must be a whole number, got '1'"),
        ("weight", None, "may not be null"),
        ("weight", 2**15, "must be from 0 to 32767, got 32768"),
        ("max_in_flight", 2**31, "must be from 0 to 2147483647, got 2147483648"),
        ("enabled", 1, "must be true or false, got 1"),
        ("jitter", "x", "must be a number, got 'x'"),
        ("name", 5, "must be a text, got 5"),
        ("max_age_seconds", -1, "must be from 0 to 315532800 seconds, got -1"),
        ("when_late", "never", "Value 'never' is not a valid choice."),
        ("permanent_status_codes", [200], "This must be a list of HTTP status codes from 300 to 599, such as [404]."),
        ("max_age", 5, "there is no field 'max_age'"),
    ],
)
def test_what_it_cannot_be_is_said_in_a_sentence(name: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidBizType) as refused:
        define(valid(), {name: value})

    assert said in str(refused.value)
    assert [fault.field for fault in refused.value.faults] == [name]


def test_what_was_wrong_before_is_no_reason_to_refuse_another_change() -> None:
    stored = valid(id=1, lane="taken.away")

    assert define(stored, {"weight": 5}) == {"weight"}
    with pytest.raises(InvalidBizType, match="No worker serves this lane"):
        define(stored, {"lane": "elsewhere"})
