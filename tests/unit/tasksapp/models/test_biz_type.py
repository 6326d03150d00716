"""A biz type's own rules: the code that callers name it by, and when it is paused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.models.biz_type import CODE


@pytest.mark.parametrize("code", ["a", "order.close", "0", "a-b_c.d", "x" * 100])
def test_a_code_can_be_part_of_an_address_and_of_a_redis_key(code: str) -> None:
    CODE(code)


@pytest.mark.parametrize("code", ["", "A", ".a", "-a", "a b", "a/b", "ä", "a\n", "x" * 101])
def test_other_codes_are_refused(code: str) -> None:
    with pytest.raises(ValidationError, match="begin with a letter or digit"):
        CODE(code)


@pytest.mark.parametrize(
    ("until", "paused"),
    [
        (None, False),
        (timezone.now() - timedelta(seconds=1), False),
        (timezone.now() + timedelta(hours=1), True),
        (UNTIL_RESUMED, True),
    ],
)
def test_it_is_paused_as_long_as_its_time_is_not_over(until: object, paused: bool) -> None:
    assert BizType(paused_until=until).is_paused is paused


def test_its_name_for_people_is_its_code() -> None:
    assert str(BizType(code="order.close", name="Close unpaid orders")) == "order.close"


def test_secrets_are_not_among_the_fields_that_a_form_would_show() -> None:
    shown = {field.name for field in BizType._meta.concrete_fields if field.editable}

    assert not any("secret" in name for name in shown)


def test_it_is_unsigned_as_long_as_its_callbacks_have_no_secret() -> None:
    biz_type = BizType(code="order.close")
    assert biz_type.is_unsigned
    assert not BizType(code="order.remind", target=BizType.Target.CELERY).is_unsigned

    biz_type.signing_secret = "whsec_" + "c2VjcmV0" * 4

    assert not biz_type.is_unsigned
