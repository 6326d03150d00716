"""``tasksapp.series``: the names that callers import."""

from __future__ import annotations

import pytest

from tasksapp import series


def test_the_public_names_are_these_and_say_what_they_are() -> None:
    assert series.__all__ == [
        "Preview", "change", "create", "delete", "find", "find_by_name", "pause", "preview", "resume", "trigger",
    ]  # fmt: skip
    for name in series.__all__:
        assert getattr(series, name).__doc__
    assert set(series.__all__) <= set(dir(series))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'cancel'"):
        series.cancel  # noqa: B018  asking for it is the test
