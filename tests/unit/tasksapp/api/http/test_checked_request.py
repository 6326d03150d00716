"""CheckedRequest: what its fields let pass, and what is refused by the name of the field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework import serializers

from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.problems import Refused


class PaintRequest(CheckedRequest):
    colour = serializers.ChoiceField(choices=["red", "blue"])
    coats = serializers.IntegerField(required=False, min_value=1, max_value=3)
    litres = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=10)
    dry = serializers.BooleanField(required=False)
    at = serializers.DateTimeField(required=False, allow_null=True)
    note = serializers.CharField(required=False, allow_blank=True, max_length=5)
    by = serializers.CharField(required=False, max_length=5)
    walls = serializers.ListField(child=serializers.CharField(max_length=5), required=False, min_length=1, max_length=2)


@pytest.mark.parametrize(
    ("given", "judged"),
    [
        ({"colour": "red"}, {"colour": "red"}),
        ({"coats": 3}, {"coats": 3}),
        ({"litres": 2}, {"litres": 2.0}),
        ({"litres": None, "at": None}, {"litres": None, "at": None}),
        ({"dry": False}, {"dry": False}),
        ({"at": "2027-01-31T09:30:00+01:00"}, {"at": datetime(2027, 1, 31, 8, 30, tzinfo=UTC)}),
        ({"note": "", "by": "ada"}, {"note": "", "by": "ada"}),
        ({"walls": ["left"]}, {"walls": ["left"]}),
    ],
)
def test_what_may_be_is_given_as_python_has_it(given: dict[str, Any], judged: dict[str, Any]) -> None:
    assert PaintRequest().judged(given) == judged


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"colour": ""}, "required", "colour is required, and may not be empty"),
        ({"colour": None}, "required", "colour is required, and may not be empty"),
        ({"colour": "green"}, "invalid", "colour must be one of red, blue, got 'green'"),
        ({"coats": 4}, "invalid", "coats must be a whole number from 1 to 3, got 4"),
        ({"coats": True}, "invalid", "coats must be a whole number from 1 to 3, got True"),
        ({"coats": None}, "invalid", "coats must be a whole number from 1 to 3, got None"),
        ({"litres": "2"}, "invalid", "litres must be a number from 0 to 10, got '2'"),
        ({"dry": 1}, "invalid", "dry must be true or false, got 1"),
        ({"note": "a\0b"}, "invalid", "note must be a text of at most 5 characters, without NUL"),
        ({"note": "longer"}, "invalid", "note must be a text of at most 5 characters, without NUL"),
        ({"by": " "}, "invalid", "by must be a text of at most 5 characters, without NUL"),
        ({"walls": []}, "invalid", "walls must be a list of 1 to 2, got []"),
        ({"walls": [7]}, "invalid", "walls must be a text of at most 5 characters, without NUL"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_must_be(given: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(Refused) as refusal:
        PaintRequest().judged(given)

    (error,) = refusal.value.problem.errors
    assert (error.field, error.code, error.message) == (*given, code, words)
