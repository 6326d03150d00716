"""What is shown of a column's text to people who may not change the row."""

from __future__ import annotations

import pytest

from delayhub.secrecy import NOT_SHOWN
from tasksapp.access.shown_text import shown_text


@pytest.mark.parametrize(
    ("column", "text", "shown"),
    [
        ("description", "plain", "plain"),
        ("signing_secret", "hush", NOT_SHOWN),
        ("hashed_key", "hush", NOT_SHOWN),
        ("hashed_key", "", ""),
        ("owner_url", "https://chat.example/hush", "https://chat.example"),
        ("url", "https://shop.example/hooks?page=2&token=hush", "https://shop.example/hooks?page=2&token=(hidden)"),
        # of a row that was stored before URLs were checked
        ("url", "https://[hush", NOT_SHOWN),
    ],
)
def test_a_text_is_shown_as_far_as_its_column_allows(column: str, text: str, shown: str) -> None:
    assert shown_text(column, text) == shown
