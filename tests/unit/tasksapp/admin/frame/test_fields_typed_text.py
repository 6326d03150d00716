"""A typed text keeps the ends of lines of what is stored."""

from __future__ import annotations

import pytest

from tasksapp.admin.frame.fields import typed_bytes


@pytest.mark.parametrize(
    ("typed", "stored", "raw"),
    [
        ("a\r\nb", None, b"a\nb"),
        ("a\r\nb", b"a\rb", b"a\rb"),
        ("a\r\nb\r\n", b"a\nb\r\n", b"a\nb\r\n"),
        ("a\r\nc", b"a\r\nb", b"a\r\nc"),
        ("a\r\nc", b"a\nb", b"a\nc"),
    ],
)
def test_a_browsers_ends_of_lines_do_not_change_a_body(typed: str, stored: bytes | None, raw: bytes) -> None:
    assert typed_bytes(typed, stored=stored) == raw
