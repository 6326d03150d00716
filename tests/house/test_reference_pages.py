"""Pages of the reference that are made from the code say what the code says."""

from __future__ import annotations

from tests.reference_pages import made_pages


def test_the_pages_that_are_made_from_the_code_are_up_to_date() -> None:
    assert [path.name for path, text in made_pages().items() if path.read_text() != text] == [], "run `make docs`"
