"""Text of strangers in a line of a log."""

from __future__ import annotations

import pytest

from delayhub.escaped_text import escaped


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("order 42, 王小明", "order 42, 王小明"),
        ("no\nERROR all is lost", "no\\nERROR all is lost"),
        ("no\r\x1b[31m\u2028\u202e\x00", "no\\r\\x1b[31m\\u2028\\u202e\\x00"),
        ("", ""),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, line: str) -> None:
    assert escaped(text) == line
