"""JSON in a form: what no database or receiver takes is shown again with an error, as the person wrote it."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from tasksapp.admin.frame.fields import JsonField
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db

BAD = [
    "[" * 5_000,
    "9" * 5_000,
    '{"a": "\\ud800"}',
    '"\\udc00"',
    '{"a": "\\u0000"}',
    '{"a": 1, "a": 2}',
    "[NaN]",
    "[1e999]",
    '{"a": ',
]

FIELDS = ["headers", "backoff_list", "permanent_status_codes"]


@pytest.mark.parametrize("text", BAD)
def test_it_is_an_error_of_its_field(person: Client, biz_type: BizType, text: str) -> None:
    page = reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])

    answer = person.post(page, dict.fromkeys(FIELDS, text))

    assert answer.status_code == 200
    form = answer.context["adminform"].form
    for field in FIELDS:
        assert form.errors[field] == ["Enter a valid JSON."]
        assert form[field].value() == text


@pytest.mark.parametrize("text", BAD)
def test_it_is_a_change_and_no_value(text: str) -> None:
    field = JsonField()

    assert field.has_changed({}, text)
    with pytest.raises(ValidationError):
        field.clean(text)


def test_other_json_is_taken_as_it_stands() -> None:
    field = JsonField(required=False)

    assert field.clean('{"X-Shop": "🚲 ä", "n": [1, 1.5, null]}') == {"X-Shop": "🚲 ä", "n": [1, 1.5, None]}
    assert field.clean('"text"') == "text"
    assert field.clean("") is None
    assert not field.has_changed({"a": 1}, '{"a":1}')
    assert field.bound_data(None, {}) is None
