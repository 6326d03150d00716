"""manage.py check names biz types whose callbacks have no signature."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks

from tasksapp import biz_types
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://shop.example/hooks"


def test_a_check_names_those_that_sign_nothing() -> None:
    biz_types.create("signed", url=URL)
    biz_types.create("pulled", target="pull")
    BizType.objects.create(code="by.hand", url=URL)
    BizType.objects.create(code="disabled", url=URL, enabled=False)

    found = [one for one in run_checks(databases=["default"]) if one.id == "delayhub.W036"]

    assert [one.msg for one in found] == [
        "callbacks of by.hand have no signature: their receiver cannot know who sent them"
    ]
    assert not [one for one in run_checks() if one.id == "delayhub.W036"]
