"""The synchronous client is the asynchronous one without awaiting."""

from __future__ import annotations

from tests.sync_client import MADE, made


def test_the_synchronous_client_is_as_make_client_makes_it() -> None:
    there = {path.name: path.read_text() for path in MADE.glob("*.py")}

    assert there == made(), "run: make client"
