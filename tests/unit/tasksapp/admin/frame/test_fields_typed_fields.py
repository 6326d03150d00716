"""Fields of a job that a person types into a form."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from tasksapp.admin.frame.fields import checked, typed_fields
from tasksapp.models import Job


def test_a_key_is_one_that_a_job_may_have_or_none() -> None:
    assert (checked("flow_key", "customer-7"), checked("flow_key", "")) == ("customer-7", "")


@pytest.mark.parametrize("text", ["a:b", "{a}", "钥" * 34])
def test_what_no_job_may_have_is_refused_in_the_language_of_the_person(text: str) -> None:
    with translation.override("zh-hans"), pytest.raises(ValidationError) as refused:
        typed_fields(Job, ["flow_key"])["flow_key"].clean(text)

    assert "at most 100 bytes" not in refused.value.messages[0]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("priority", "9", 9),
        ("priority", "", None),
        ("max_attempts", "1000", 1000),
        ("biz_id", " order-42 ", "order-42"),
        ("expires_at", "", None),
    ],
)
def test_a_field_takes_what_a_job_may_have(name: str, text: str, value: object) -> None:
    assert typed_fields(Job, [name])[name].clean(text) == value


@pytest.mark.parametrize(("name", "text"), [("priority", "10"), ("max_attempts", "0"), ("biz_id", "a\x01b")])
def test_a_field_refuses_what_no_job_may_have(name: str, text: str) -> None:
    with pytest.raises(ValidationError):
        typed_fields(Job, [name])[name].clean(text)


def test_what_has_an_input_of_its_own_is_not_typed_as_it_is() -> None:
    assert list(typed_fields(Job, ["body", "due_at", "flow_key"])) == ["flow_key"]
