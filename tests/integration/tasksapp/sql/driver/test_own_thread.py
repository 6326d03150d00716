"""A thread for calls that may hang: one after another, and what they raise is given to who asked."""

from __future__ import annotations

import threading
from concurrent.futures import TimeoutError as NotDone

import pytest

from tasksapp.sql.driver.own_thread import OwnThread


def test_calls_are_made_one_after_another_in_one_thread() -> None:
    own = OwnThread[str]("of a test")

    names = [own.submit(lambda: threading.current_thread().name).result(30) for _ in range(2)]

    assert names == ["of a test", "of a test"]


def test_what_a_call_raises_is_its_outcome_and_the_thread_goes_on() -> None:
    own = OwnThread[float]("of a test")

    failed = own.submit(lambda: 1 / 0)

    assert isinstance(failed.exception(30), ZeroDivisionError)
    assert own.submit(lambda: 1.0).result(30) == 1.0


def test_a_call_that_hangs_holds_no_one_else() -> None:
    own, go = OwnThread[bool]("of a test"), threading.Event()

    asked = own.submit(lambda: go.wait(30))
    with pytest.raises(NotDone):
        asked.result(0.01)
    go.set()

    assert asked.result(30) is True
