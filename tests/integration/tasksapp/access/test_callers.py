"""A caller is known for a while without a look at the database, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.access.callers import KNOWN_SECONDS, Caller, CallerCache
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db


def test_a_known_key_costs_no_query(django_assert_num_queries: Any) -> None:
    row, key = issue_key("shop")
    cache = CallerCache()

    assert cache.find(key) == Caller("shop", row.pk)
    with django_assert_num_queries(0):
        assert cache.find(key) == Caller("shop", row.pk)


def test_a_disabled_key_works_until_it_is_looked_up_again() -> None:
    (row, key), clock = issue_key("shop"), StandingClock()
    cache = CallerCache(clock)
    cache.find(key)
    ApiKey.objects.update(enabled=False)

    assert cache.find(key) == Caller("shop", row.pk)
    clock.seconds += KNOWN_SECONDS
    assert cache.find(key) is None


def test_an_unknown_key_is_looked_up_each_time() -> None:
    cache = CallerCache()

    assert cache.find("dh_later") is None
    row, _ = issue_key("later", key="dh_later")
    assert cache.find("dh_later") == Caller("later", row.pk)


def test_a_caller_is_no_user_of_the_project() -> None:
    caller = Caller("shop", 7)

    assert (caller.is_authenticated, caller.is_staff, caller.is_anonymous) == (True, False, False)
    assert caller.pk == "delayhub-key-7"
    assert not caller.has_perm("tasksapp.add_job")
    assert not caller.has_perms(["tasksapp.add_job"])


def test_the_last_use_is_written_once_a_minute(django_assert_num_queries: Any) -> None:
    key = issue_key("shop").key

    CallerCache().find(key)
    assert ApiKey.objects.get().last_used_at is not None
    with django_assert_num_queries(1):
        CallerCache().find(key)
