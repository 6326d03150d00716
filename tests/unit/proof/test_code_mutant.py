from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from proof.code_mutant import CodeMutant, ValueMutant
from tasksapp.delivery import answers
from tasksapp.delivery.answers import retry_after_seconds

MODULE = "tasksapp.delivery.answers"


def test_a_mistake_is_made_wherever_the_function_is_known_and_then_taken_back() -> None:
    mutant = CodeMutant("infinite waits count", MODULE, "math.isfinite(seconds) and seconds >= 0", "seconds >= 0")
    asked: list[Any] = [retry_after_seconds("inf", now_ms=0)]

    with mutant.made():
        asked.append(retry_after_seconds("inf", now_ms=0))
    asked.append(retry_after_seconds("inf", now_ms=0))

    assert asked == [None, float("inf"), None]


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("no such text", "", "0 times"),
        ("return None", "return 1", "times"),  # there several times
        ('"""What a receiver', '"""How a receiver', "no function"),  # there, but in no function
    ],
)
def test_a_text_that_is_not_there_once_in_a_function_is_refused(right: str, wrong: str, why: str) -> None:
    with pytest.raises(LookupError, match=why):
        CodeMutant("no mistake", MODULE, right, wrong).changes()


def test_a_value_is_wrong_and_then_right_again() -> None:
    mutant = ValueMutant("gone is not found", MODULE, "", "_GONE", 404)
    seen = [answers._GONE]

    with mutant.made():
        seen.append(answers._GONE)
    seen.append(answers._GONE)

    assert seen == [410, 404, 410]


def test_a_value_that_is_there_already_is_refused() -> None:
    same = ValueMutant("nothing", "tasksapp.maintenance.loader", "", "OVERDUE", timedelta(seconds=2))

    with pytest.raises(LookupError, match="changes nothing"), same.made():
        pass
