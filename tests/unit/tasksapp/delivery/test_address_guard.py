"""Callbacks go to public addresses, and to networks that a deployment allows."""

from __future__ import annotations

import pytest

from tasksapp.delivery.address_guard import AddressGuard, AddressRefused


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "2606:4700:4700::1111",
        "2a00:1450:4001:81b::200e",
        # a public address behind NAT64, and as 6to4
        "64:ff9b::808:808",
        "2002:808:808::1",
        # mapped
        "::ffff:8.8.8.8",
    ],
)
def test_public_addresses_are_dialled(address: str) -> None:
    AddressGuard().check(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.31.255.255",
        "192.168.1.1",
        # carrier-grade NAT
        "100.64.0.1",
        # metadata services of clouds, and the ECS one
        "169.254.169.254",
        "169.254.170.2",
        "fd00:ec2::254",
        # Alibaba's metadata lies in carrier-grade NAT space
        "100.100.100.200",
        # Azure's is a public address
        "168.63.129.16",
        "::ffff:168.63.129.16",
        # documentation, benchmarks, multicast, reserved, broadcast
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        # loopback, unspecified, unique local, link local, site local, multicast
        "::1",
        "::",
        "fc00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        # documentation, Teredo, discard, NAT64 for local use
        "2001:db8::1",
        "3fff::1",
        "2001::1",
        "100::1",
        "64:ff9b:1::1",
        # private addresses in public clothes: mapped, compatible, NAT64, 6to4
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::1",
        # a scope makes an address local
        "fe80::1%eth0",
        "2606:4700:4700::1111%1",
        # not an address
        "localhost",
        "",
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="callbacks may not go to"):
        AddressGuard().check(address)


def test_a_scope_in_the_socket_address_is_refused() -> None:
    with pytest.raises(AddressRefused):
        AddressGuard().check("2606:4700:4700::1111", scope=2)


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "fd12::1"])
def test_a_deployment_opens_what_it_needs(address: str) -> None:
    AddressGuard(["10.1.0.0/16", "fd12::/64"]).check(address)


def test_opening_one_network_opens_no_other() -> None:
    with pytest.raises(AddressRefused):
        AddressGuard(["10.1.0.0/16"]).check("10.2.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/hooks",
        "http://shop.example:8080/hooks?a=b",
        "https://8.8.8.8/",
        "https://[2606:4700:4700::1111]/",
        "https://bücher.example/",
    ],
)
def test_a_url_to_the_public_is_fine(url: str) -> None:
    assert AddressGuard().complaint(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "ftp://shop.example/",
        "javascript:alert(1)",
        "//shop.example/",
        "https://",
        "https:///hooks",
        "https://user:secret@shop.example/",
        "https://shop.example:99999/",
        "https://shop.example:0/",
        "https://shop.example/a b",
        "https://shop.example/\r\nHost: other",
        "https://[::1",
        # loopback in all spellings a resolver takes
        "http://localhost/",
        "http://a.localhost./",
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
def test_a_url_that_leads_elsewhere_is_complained_about(url: str) -> None:
    assert AddressGuard().complaint(url)
