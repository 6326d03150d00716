"""Extensions are added by name, imported at their first use, and complete from then on."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from django.core.exceptions import ImproperlyConfigured

from tasksapp.extending.registry import Registry


class Extension(NamedTuple):
    name: str
    rank: int


LAST, FIRST = Extension("last", 20), Extension("first", 10)
HERE = __name__


def test_they_come_in_the_order_of_their_ranks_whoever_adds_them_first() -> None:
    registry: Registry[Extension] = Registry("extensions")

    registry.add(f"{HERE}.LAST")
    registry.add(f"{HERE}.FIRST", f"{HERE}.LAST")

    assert registry.all == (FIRST, LAST)
    assert registry.all is registry.all


def test_nothing_is_imported_before_the_first_use() -> None:
    registry: Registry[Extension] = Registry("extensions")

    registry.add("no_such_package.THING")

    with pytest.raises(ImportError, match="no_such_package"):
        assert registry.all


def test_one_that_comes_too_late_is_refused_and_says_what_to_do() -> None:
    registry: Registry[Extension] = Registry("wait rules")
    registry.add(f"{HERE}.FIRST")
    assert registry.all

    registry.add(f"{HERE}.FIRST")  # known already
    with pytest.raises(ImproperlyConfigured, match=r"wait rules are in use already.*LAST.*AppConfig\.ready"):
        registry.add(f"{HERE}.LAST")


def test_a_test_may_have_others_and_gets_back_what_was_there() -> None:
    registry: Registry[Extension] = Registry("extensions")
    registry.add(f"{HERE}.FIRST")
    assert registry.all == (FIRST,)

    with registry.only(f"{HERE}.LAST"):
        assert registry.all == (LAST,)
    with registry.only():
        assert registry.all == ()

    assert registry.all == (FIRST,)
