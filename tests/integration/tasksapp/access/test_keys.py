"""A key is shown once, and its row is found by the whole key only."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from tasksapp.access.keys import MARK, find_key, issue_key
from tasksapp.models import ApiKey

pytestmark = pytest.mark.django_db


def test_an_issued_key_is_found_and_is_not_in_its_row() -> None:
    issued = issue_key("shop")

    row = ApiKey.objects.get()
    assert issued.key.startswith(MARK)
    found = find_key(issued.key)
    assert found is not None
    assert (found.id, found.name, found.hashed_key) == (row.pk, "shop", row.hashed_key)
    assert issued.key not in "".join(str(value) for value in vars(row).values())


def test_a_key_with_the_same_prefix_or_a_disabled_one_is_not_found() -> None:
    key = issue_key("shop").key

    assert find_key(key[:-1] + "?") is None
    ApiKey.objects.update(enabled=False)
    assert find_key(key) is None


def test_a_key_names_the_cell_that_made_it(settings: Any) -> None:
    before = issue_key("before").key
    settings.DELAYHUB = {**settings.DELAYHUB, "CELL": "c234"}

    key = issue_key("shop").key

    assert key.startswith("dh_c234.")
    row = ApiKey.objects.get(name="shop")
    assert row.prefix == key[:16]
    found = [find_key(each) for each in (key, before)]
    assert [each.name for each in found if each] == ["shop", "before"]
    assert find_key(key.replace("dh_c234.", "dh_c1.")) is None


@pytest.mark.parametrize("key", ["", "dh_\x00", "dh_ä", "dh_\ud800", "dh_" + "x" * 100_000])
def test_what_can_be_no_key_is_not_found(key: str) -> None:
    assert find_key(key) is None


def test_a_name_has_one_key() -> None:
    issue_key("shop")

    with pytest.raises(IntegrityError), transaction.atomic():
        issue_key("shop")


def test_the_command_prints_the_key_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", "shop")

    found = find_key(capsys.readouterr().out.strip())
    assert found is not None
    assert found.name == "shop"
    with pytest.raises(CommandError, match="there is a key named 'shop' already"):
        call_command("create_api_key", "shop")
