"""The tests of the Python client can ask for the TypeScript client in its place."""

from __future__ import annotations

import pytest

from delayhub.client.synchronous import connection
from tests.typescript_client import over, typescript

__all__ = ["over", "typescript"]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made; none takes any time."""
    made: list[float] = []
    monkeypatch.setattr(connection.time, "sleep", made.append)
    return made
