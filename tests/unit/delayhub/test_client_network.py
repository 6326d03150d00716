"""By which network one client is known."""

from __future__ import annotations

import pytest

from delayhub.client_network import client_network


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        # a socket of the file system, or nonsense, of a bounded length
        ("", ""),
        ("x" * 100, "x" * 64),
    ],
)
def test_it_is_what_one_client_cannot_change(address: str, network: str) -> None:
    assert client_network(address) == network
