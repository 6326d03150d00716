"""Bytes are a text where they are UTF-8 without NUL."""

from __future__ import annotations

import pytest

from tasksapp.access.shown_text import text_of


@pytest.mark.parametrize(("raw", "text"), [(b"", ""), ("<é/>".encode(), "<é/>"), (b"a\0b", None), (b"\xff\xfe", None)])
def test_bytes_are_a_text_where_programs_take_them_as_one(raw: bytes, text: str | None) -> None:
    assert text_of(raw) == text
