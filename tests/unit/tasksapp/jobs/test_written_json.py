"""JSON that a person wrote: its value, and its text as it is."""

from __future__ import annotations

import pytest

from tasksapp.jobs.written_json import read_json


def test_the_text_is_kept_without_the_blanks_around_it() -> None:
    assert read_json(' {"a": 1e2}\n') == ({"a": 100.0}, '{"a": 1e2}')


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", '{"a": Infinity}', '{"a": 1, "a": 2}', "[1,]", "{'a': 1}", "[" * 99_999]
)
def test_what_is_no_strict_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)
