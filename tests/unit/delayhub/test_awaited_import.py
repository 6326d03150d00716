"""A call with a module as soon as somebody imports it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from delayhub.awaited_import import AwaitedImport, when_imported

NAME = "fractions"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The modules that were called with; the module that the tests await is not imported yet."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    return []


def test_a_module_that_is_there_is_called_with_at_once(calls: list[Any]) -> None:
    import_module(NAME)

    when_imported(NAME, calls.append)

    assert calls == [sys.modules[NAME]]


def test_another_is_called_with_once_it_is_imported_and_complete(calls: list[Any]) -> None:
    def note(module: ModuleType) -> None:
        calls.append(module.Fraction)

    when_imported(NAME, note)
    import_module("string")
    before = [*calls]

    import_module(NAME)

    assert before == []
    assert calls == [sys.modules[NAME].Fraction]


def test_one_call_is_made_once_however_often_it_is_asked_for(calls: list[Any]) -> None:
    note = calls.append  # a method is another object each time that it is named

    when_imported(NAME, note)
    when_imported(NAME, note)
    import_module(NAME)

    assert len(calls) == 1
    assert not any(isinstance(finder, AwaitedImport) and finder.name == NAME for finder in sys.meta_path)


def test_two_calls_may_await_the_same_module(calls: list[Any]) -> None:
    others: list[Any] = []

    when_imported(NAME, calls.append)
    when_imported(NAME, others.append)
    import_module(NAME)

    assert len(calls) == len(others) == 1


def test_the_import_of_a_module_that_is_not_there_fails_as_ever(calls: list[Any]) -> None:
    when_imported("no_such_module_of_ours", calls.append)

    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_ours"):
        import_module("no_such_module_of_ours")

    assert calls == []
