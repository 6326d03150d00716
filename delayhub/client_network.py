"""The network by which one client of a site is known."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

#: One customer of a provider has at least so many bits of IPv6 addresses.
_V6_BITS = 64
#: How much is kept of what is no address.
_LONGEST = 64


def client_network(address: str) -> str:
    """The IPv4 address; for IPv6 the network of 64 bits, any address of which one client can use; other text as it is.

    An IPv4 address that is written as IPv6 is an IPv4 address.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address[:_LONGEST]
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> _V6_BITS << _V6_BITS)}/{_V6_BITS}"
