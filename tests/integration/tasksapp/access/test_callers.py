"""A caller is known by a key for as long as the key is enabled."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.access.callers import USED_EVERY, Caller, LastUses, find_caller, last_uses
from tasksapp.access.key_verbs import rotate
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey
from tasksapp.models.api_key import USUAL_SCOPES
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_use_known() -> None:
    last_uses.forget()


def test_a_key_that_is_disabled_or_deleted_is_refused_at_the_next_call() -> None:
    row, key = issue_key("shop")
    assert find_caller(key) == Caller("shop", row.pk)

    ApiKey.objects.update(enabled=False)
    assert find_caller(key) is None
    ApiKey.objects.update(enabled=True)
    assert find_caller(key) == Caller("shop", row.pk)
    row.delete()
    assert find_caller(key) is None


def test_an_expired_key_and_a_replaced_one_after_its_overlap_are_refused_at_the_next_call() -> None:
    row, key = issue_key("shop", expires_at=timezone.now() + USED_EVERY)
    new = rotate(row, overlap=USED_EVERY)
    assert find_caller(key) == find_caller(new) is not None

    ApiKey.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    assert find_caller(key) is None
    assert find_caller(new) is not None
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert find_caller(new) is None


def test_a_caller_carries_what_its_key_may_do_and_a_key_without_biz_types_sees_all() -> None:
    row, key = issue_key("shop", scopes=["stats"], biz_type_ids=[3, 4])
    other = issue_key("other").key

    assert find_caller(key) == Caller("shop", row.pk, 1, frozenset({"stats"}), frozenset({3, 4}), 1)
    caller = find_caller(other)
    assert caller is not None
    assert (caller.scopes, caller.biz_type_ids) == (frozenset(USUAL_SCOPES), None)


def test_a_call_costs_one_query(django_assert_num_queries: Any) -> None:
    key = issue_key("shop").key
    find_caller(key)

    with django_assert_num_queries(1):
        find_caller(key)


def test_an_unknown_key_is_known_as_soon_as_it_is_issued() -> None:
    assert find_caller("dh_later") is None

    row, _ = issue_key("later", key="dh_later")
    assert find_caller("dh_later") == Caller("later", row.pk)


def test_a_caller_is_no_user_of_the_project() -> None:
    caller = Caller("shop", 7)

    assert (caller.is_authenticated, caller.is_staff, caller.is_anonymous) == (True, False, False)
    assert caller.pk == "delayhub-key-7"
    assert not caller.has_perm("tasksapp.add_job")
    assert not caller.has_perms(["tasksapp.add_job"])


def test_the_last_use_is_written_once_a_minute(django_assert_num_queries: Any) -> None:
    row, _ = issue_key("shop")
    clock = StandingClock()
    uses = LastUses(clock)

    uses.note(row.pk, lambda: "192.0.2.7")
    used = ApiKey.objects.get()
    first = used.last_used_at
    assert first is not None
    assert used.last_used_from == "192.0.2.7"
    with django_assert_num_queries(0):
        uses.note(row.pk)
    clock.seconds += USED_EVERY.total_seconds()
    uses.note(row.pk)
    assert ApiKey.objects.get().last_used_at == first, "less than a minute has passed in the database"
    ApiKey.objects.update(last_used_at=timezone.now() - 2 * USED_EVERY)
    uses.forget()
    uses.note(row.pk)
    assert ApiKey.objects.get().last_used_at >= first
