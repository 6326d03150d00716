"""The definition of a biz type: what its people set, but for its secrets, as JSON and back.

It is checked as the admin's form checks it: by the columns' own rules, and by ``complaints``. JSON is taken strictly: a
number is no text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import override

from tasksapp.biz_types.validation import LONGEST_AGE, complaints
from tasksapp.errors import Fault, InvalidBizType
from tasksapp.models import BizType

#: The names in JSON of columns that are lengths of time there; JSON has seconds.
_SECONDS = {
    "max_age_seconds": "max_age",
    "max_lateness_seconds": "max_lateness",
    "retention_seconds": "retention",
    "debounce_max_wait_seconds": "debounce_max_wait",
}
#: What a definition has, in the order in which people read it.
FIELDS = (
    "code", "name", "description", "enabled",
    "target", "method", "url", "url_hosts", "headers", "auth", "token_url", "client_id",
    "token_fields", "ca_bundle", "task_name", "task_queue", "timeout_seconds",
    "max_attempts", "max_age_seconds", "backoff", "backoff_min_seconds", "backoff_max_seconds", "backoff_factor",
    "backoff_max_doublings", "backoff_list", "jitter", "permanent_status_codes",
    "insert_rate", "insert_burst", "delivery_rate", "delivery_burst", "max_in_flight",
    "key_rate", "key_burst", "key_max_in_flight", "ordered", "weight", "priority",
    "guarantee", "max_lateness_seconds", "when_late", "retention_seconds", "encrypted",
    "one_live", "debounce_max_wait_seconds", "on_success", "on_dead", "on_resolved",
    "owner_mail", "owner_url", "lane", "masked_fields",
)  # fmt: skip
#: By the name in JSON, the column.
COLUMNS: Mapping[str, models.Field[Any, Any]] = {
    name: BizType._meta.get_field(_SECONDS.get(name, name))  # type: ignore[misc]  # none of them is a relation
    for name in FIELDS
}
_NAMES = {column.name: name for name, column in COLUMNS.items()}


def definition_of(biz_type: BizType) -> dict[str, Any]:
    """The definition as JSON, whole."""
    return {name: _as_json(getattr(biz_type, column.name)) for name, column in COLUMNS.items()}


def define(biz_type: BizType, given: Mapping[str, Any]) -> set[str]:
    """Gives the biz type those values, and gives back the names of the columns that have changed by it.

    Args:
        biz_type: one that is not stored here: a new one, or one that was just read.
        given: by names of ``FIELDS``; fields that are not given stay as they are.

    Raises InvalidBizType, which names every field that is wrong.
    """
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    for name, value in given.items():
        column = COLUMNS.get(name)
        if column is None:
            faults.append(Fault(name[:100], "unknown", f"there is no field {name[:100]!r}"))
            continue
        try:
            values[column.name] = _read(column, value)
        except ValueError as error:
            faults.append(Fault(name, "invalid", f"{name} {error}"))
    if faults:
        raise InvalidBizType(faults)
    changed = {name for name, value in values.items() if getattr(biz_type, name) != value}
    # What was wrong before, such as a lane that was taken away since, is no reason to refuse other changes.
    known = {fault.field for fault in faults_of(biz_type)} - given.keys() if biz_type.pk else set()
    for name, value in values.items():
        setattr(biz_type, name, value)
    if faults := [fault for fault in faults_of(biz_type) if fault.field not in known]:
        raise InvalidBizType(faults)
    return changed


def faults_of(biz_type: BizType) -> list[Fault]:
    """What is wrong with the biz type as a whole, in English; empty where it is valid."""
    left_out = [field.name for field in BizType._meta.concrete_fields if field.name not in _NAMES]
    with override("en"):
        try:
            biz_type.clean_fields(exclude=left_out)
        except ValidationError as error:
            found = {name: " ".join(messages) for name, messages in error.message_dict.items()}
        else:
            found = complaints(biz_type)
    return [Fault(_NAMES.get(name, name), "invalid", f"{_NAMES.get(name, name)}: {found[name]}") for name in found]


def json_names(columns: Collection[str]) -> list[str]:
    """The names in JSON of those columns, in the order of ``FIELDS``."""
    return [name for name, column in COLUMNS.items() if column.name in columns]


def _as_json(value: Any) -> Any:
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    return str(value) if isinstance(value, models.TextChoices) else value


def _read(column: models.Field[Any, Any], value: Any) -> Any:  # noqa: PLR0911  a table of kinds
    """The column's value for a value of JSON. Raises ValueError, which goes on after the field's name."""
    if value is None:
        if column.null:
            return None
        raise ValueError("may not be null")
    match column:
        case models.JSONField():
            return value
        case models.BooleanField():
            return _typed(value, bool, "true or false")
        case models.DurationField():
            return _length_of_time(value)
        case models.IntegerField():
            return _whole(value, most=2**15 - 1 if isinstance(column, models.PositiveSmallIntegerField) else 2**31 - 1)
        case models.FloatField():
            return float(_number(value))
    text: str = _typed(value, str, "a text")
    if "\0" in text:
        raise ValueError("may not hold the character NUL")
    return text.strip()


def _typed(value: Any, kind: type, words: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"must be {words}, got {value!r:.80}")
    return value


def _whole(value: Any, *, most: int) -> int:
    number: int = _typed(value, int, "a whole number")
    if not 0 <= number <= most:  # what PostgreSQL's columns take; SQLite's take more
        raise ValueError(f"must be from 0 to {most}, got {number!r:.80}")
    return number


def _number(value: Any) -> int | float:
    try:
        if type(value) in (int, float) and isfinite(value):
            number: int | float = value
            return number
    except OverflowError:
        pass  # a whole number that no float can be
    raise ValueError(f"must be a number, got {value!r:.80}")


def _length_of_time(value: Any) -> timedelta:
    seconds = _number(value)
    if not 0 <= seconds <= LONGEST_AGE.total_seconds():
        raise ValueError(f"must be from 0 to {LONGEST_AGE.total_seconds():.0f} seconds, got {seconds!r:.80}")
    return timedelta(seconds=seconds)
