"""``manage.py export_biz_types``: what it prints can be kept in Git."""

from __future__ import annotations

import json

import pytest

from tasksapp.biz_types.definition import FIELDS
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command

pytestmark = pytest.mark.django_db


def test_it_prints_the_same_text_until_something_changes_and_no_secret(make_biz_type: MakeBizType) -> None:
    make_biz_type("b", signing_secret="whsec_" + "c2VjcmV0" * 4, auth="bearer", auth_secret="hush")
    make_biz_type("a")

    printed = run_command("export_biz_types")

    assert printed == run_command("export_biz_types")
    document = json.loads(printed)
    assert [each["code"] for each in document["biz_types"]] == ["a", "b"]
    assert list(document["biz_types"][0]) == list(FIELDS)
    assert "hush" not in printed
    assert "c2VjcmV0" not in printed
