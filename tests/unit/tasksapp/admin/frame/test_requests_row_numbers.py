"""Numbers of rows, as addresses and forms have them."""

from __future__ import annotations

import pytest

from tasksapp.admin.frame.requests import row_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("17", 17),
        ("0", 0),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),  # some of these are longer than a key of 64 bits
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("1\0", None),
    ],
)
def test_a_text_is_a_number_only_where_a_row_may_have_it(text: str, number: int | None) -> None:
    assert row_number(text) == number
