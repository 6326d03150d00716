"""The library's front door: its names are there, and each is loaded when it is first used."""

from __future__ import annotations

import pytest

import delayhub
from delayhub.engine import DelayQueue
from delayhub.errors import DelayHubError


def test_a_public_name_is_the_thing_itself() -> None:
    assert delayhub.DelayQueue is DelayQueue
    assert delayhub.DelayHubError is DelayHubError


@pytest.mark.parametrize("name", delayhub.__all__)
def test_every_public_name_is_loaded_once(name: str) -> None:
    vars(delayhub).pop(name, None)

    found = getattr(delayhub, name)

    assert vars(delayhub)[name] is found


def test_another_name_is_an_attribute_error_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'delayhub' has no attribute 'nothing'"):
        getattr(delayhub, "nothing")  # noqa: B009  mypy knows that there is none


def test_public_names_are_listed_before_they_are_loaded() -> None:
    vars(delayhub).pop("TimerLane", None)

    assert "TimerLane" in dir(delayhub)
