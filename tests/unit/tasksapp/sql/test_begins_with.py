"""The range of all texts that begin alike."""

from __future__ import annotations

import pytest

from tasksapp.sql.begins_with import after


@pytest.mark.parametrize(
    ("prefix", "end"),
    [("ab", "ac"), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000"), ("", None), ("\U0010ffff", None), ("z-9", "z-:")],
)
def test_the_range_ends_before_the_first_text_that_begins_otherwise(prefix: str, end: str | None) -> None:
    assert after(prefix) == end
