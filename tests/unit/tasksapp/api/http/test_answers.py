"""Answers of the API: their JSON and their serializers, from one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from rest_framework import serializers

from tasksapp.api.http.answers import json_of, serializer_of

ID = UUID("01a1fcb9-e182-7773-bac4-bf777e5e56f2")


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part."""

    ids: Annotated[Sequence[str], UUID]


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole."""

    id: Annotated[str, UUID, "Which one. None: nobody knows."]
    at: datetime | None
    lasts: float
    colour: Literal["red", "blue"]
    headers: Mapping[str, str]
    facts: Mapping[str, Any]
    part: Part | None
    parts: Annotated[Sequence[Part], "All of it."]
    etag: str = ""


SOURCE = SimpleNamespace(
    id=ID, at=datetime(2027, 1, 31, 8, 30, tzinfo=UTC), lasts=timedelta(minutes=1), colour=Colour.RED, headers={}
)


def test_an_answer_has_what_is_given_and_else_what_its_sources_have() -> None:
    found = json_of(Whole, SOURCE, SimpleNamespace(at=None, facts={"a": 1}), part=None, parts=[])

    assert found == {
        "id": str(ID),
        "at": "2027-01-31T08:30:00Z",
        "lasts": 60.0,
        "colour": "red",
        "headers": {},
        "facts": {"a": 1},
        "part": None,
        "parts": [],
    }


def test_a_field_that_no_source_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="facts"):
        json_of(Whole, SOURCE)


def test_a_serializer_has_a_field_for_each_of_the_model() -> None:
    own = {"lasts": serializers.FloatField(min_value=0)}
    serializer_of(Part, example={"ids": []})

    made = serializer_of(Whole, name="Thing", example={}, own=own)

    described: Any = made().fields
    assert made.__name__ == "ThingSerializer"
    assert {name: type(field).__name__ for name, field in described.items()} == {
        "id": "UUIDField",
        "at": "DateTimeField",
        "lasts": "FloatField",
        "colour": "ChoiceField",
        "headers": "DictField",
        "facts": "DictField",
        "part": "PartSerializer",
        "parts": "ListSerializer",
    }
    assert described["id"].help_text == "Which one. Null: nobody knows."
    assert described["at"].allow_null
    assert described["part"].allow_null
    assert described["lasts"].min_value == 0
    assert type(described["parts"].child.fields["ids"].child).__name__ == "UUIDField"
    assert isinstance(described["headers"].child, serializers.CharField)
