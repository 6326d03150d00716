"""The name and the version that a server gives itself."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.engine.fitness import server_in


@pytest.mark.parametrize(
    ("info", "server"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14"),
        # Valkey says which Redis it is compatible with, too
        ({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "9.1.2"}, "Valkey 9.1.2"),
        # some managed servers hide their version
        ({}, "Redis"),
    ],
)
def test_a_server_is_called_by_its_own_name(info: dict[str, Any], server: str) -> None:
    assert server_in(info) == server
