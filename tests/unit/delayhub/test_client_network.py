"""By which network one client is known."""

from __future__ import annotations

import pytest

from delayhub.client_network import client_network, client_of, ip_of


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


@pytest.mark.parametrize(
    ("written", "address", "network"),
    [
        ("198.51.100.9, 192.0.2.1:49152", "192.0.2.1", "192.0.2.1"),
        ("[2001:db8::1]:49152", "2001:db8::1", "2001:db8::/64"),
        ("[2001:db8::1]", "2001:db8::1", "2001:db8::/64"),
        ("2001:db8::1", "2001:db8::1", "2001:db8::/64"),
    ],
)
def test_a_gateway_may_write_the_clients_port_behind_its_address(written: str, address: str, network: str) -> None:
    meta = {"HTTP_X_FORWARDED_FOR": written, "REMOTE_ADDR": "10.0.0.1"}

    assert ip_of(meta, proxies=1) == address
    assert client_of(meta, proxies=1) == network
