"""What may name a biz type or a tenant."""

from __future__ import annotations

import pytest

from tasksapp.models.columns import is_code


@pytest.mark.parametrize("text", ["a", "9", "order.close", "a_b-c.9", "a" * 100])
def test_small_letters_digits_and_some_marks_are_a_code(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Order",  # a capital
        ".a",  # begins with a mark
        "a b",
        "a\n",
        "acme/order",  # the code of a tenant stands before a slash
        "order~1",  # what is behind a tilde names a queue
        "é",
        "a" * 101,
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_code(text)
