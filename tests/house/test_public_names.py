"""What other projects may import from ``delayhub``."""

from __future__ import annotations

import inspect
import re

import delayhub


def test_the_public_names_are_these() -> None:
    assert delayhub.__all__ == [
        "DelayHubError",
        "DelayQueue",
        "EngineOptions",
        "Entry",
        "Snooze",
        "TimerLane",
        "Unique",
        "delayed_task",
        "install",
        "publish_many",
    ]


def test_there_are_at_most_ten_public_names_and_they_are_sorted() -> None:
    assert len(delayhub.__all__) <= 10
    assert delayhub.__all__ == sorted(delayhub.__all__)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in delayhub.__all__:
        assert inspect.getdoc(getattr(delayhub, name)), name
    assert set(delayhub.__all__) <= set(dir(delayhub))


def test_the_tree_of_errors_in_the_docstring_is_the_tree_in_the_code() -> None:
    from delayhub import errors

    defined = [
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
    ]
    drawn = re.findall(r"^(?:.*[├└]── |    )(\w+)", errors.__doc__ or "", re.MULTILINE)

    assert drawn == defined
    for name in defined:
        assert inspect.getdoc(getattr(errors, name)), name
