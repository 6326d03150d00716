"""What is done to a key holds from the next call on, unless somebody else changed it first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasksapp.access.actors import Actor
from tasksapp.access.callers import find_caller
from tasksapp.access.key_verbs import delete, edit, end_previous, rotate
from tasksapp.access.keys import issue_key
from tasksapp.errors import StaleKey
from tasksapp.models import ApiKey, AuditEntry

pytestmark = pytest.mark.django_db
ADA = Actor("ada")


def test_a_narrowed_key_is_narrow_at_the_next_call() -> None:
    row, key = issue_key("shop")
    row.scopes, row.biz_type_ids, row.name = ["stats"], [7], "unsaved"

    edit(row, {"scopes", "biz_type_ids"}, by=ADA)

    caller = find_caller(key)
    assert caller is not None
    assert (caller.name, caller.scopes, caller.biz_type_ids, caller.version) == ("shop", {"stats"}, {7}, 2)


def test_a_key_that_changed_meanwhile_is_left_alone() -> None:
    row, key = issue_key("shop")
    other = ApiKey.objects.get()
    other.owner = "Bob"
    edit(other, {"owner"})

    row.owner = "Ada"
    for deed in (lambda: edit(row, {"owner"}), lambda: rotate(row)):
        with pytest.raises(StaleKey, match="it has version 2, not 1"):
            deed()
    other.delete()
    with pytest.raises(StaleKey, match="it was deleted"):
        edit(row, {"owner"})
    assert find_caller(key) is None


def test_only_one_replaced_key_is_valid_beside_the_present_one() -> None:
    row, first = issue_key("shop")

    second = rotate(row, by=ADA)
    third = rotate(row, by=ADA)

    assert [find_caller(key) is not None for key in (first, second, third)] == [False, True, True]
    assert end_previous(row, by=ADA)
    assert not end_previous(row, by=ADA)
    assert [find_caller(key) is not None for key in (first, second, third)] == [False, False, True]


def test_the_record_names_both_prefixes_and_no_key() -> None:
    row, first = issue_key("shop", by=ADA)
    second = rotate(row, overlap=timedelta(hours=1), by=ADA)
    delete(row, by=ADA)

    issued, rotated, deleted = AuditEntry.objects.order_by("id")
    assert (issued.what, deleted.what) == (f"shop ({first[:11]}…)", f"shop ({second[:11]}…)")
    assert (rotated.before["prefix"], rotated.after["prefix"]) == (first[:11], second[:11])
    recorded = str(list(AuditEntry.objects.values()))
    assert first not in recorded
    assert second not in recorded
    assert find_caller(second) is None
