"""A flow key that a person types into a form."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from tasksapp.admin.frame.fields import written_flow_key


def test_a_key_is_one_that_a_job_may_have_or_none() -> None:
    assert (written_flow_key("customer-7"), written_flow_key("")) == ("customer-7", "")


@pytest.mark.parametrize("text", ["a:b", "{a}", "钥" * 34])
def test_what_no_job_may_have_is_refused_in_the_language_of_the_person(text: str) -> None:
    with translation.override("zh-hans"), pytest.raises(ValidationError) as refused:
        written_flow_key(text)

    assert "at most 100 bytes" not in refused.value.messages[0]
