"""Ways of follow-ups that lead back to where they begin are found, of any length."""

from __future__ import annotations

import pytest

from tasksapp.biz_types.follow_ups import way_back


@pytest.mark.parametrize(
    ("graph", "way"),
    [
        ({"a": {"a"}}, ["a", "a"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, ["a", "b", "c", "a"]),
        ({"a": {"b", "c"}, "b": set(), "c": {"b"}}, []),
        # a loop that the code is not part of is none of its own
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, []),
        ({"a": {"gone"}}, []),
    ],
)
def test_a_way_back_is_found(graph: dict[str, set[str]], way: list[str]) -> None:
    assert way_back({code: frozenset(following) for code, following in graph.items()}, "a") == way
