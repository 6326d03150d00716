"""The address of a request's client, and the network by which one client of a site is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

#: One customer of a provider has at least so many bits of IPv6 addresses.
_V6_BITS = 64
#: How much is kept of what is no address.
_LONGEST = 64
#: As some gateways write it, such as Azure's: each connection of a client has another port.
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")


def client_of(meta: Mapping[str, Any], *, proxies: int) -> str:
    """The network of the client that sent a request; see :func:`address_of` for the parameters."""
    return client_network(address_of(meta, proxies=proxies))


def address_of(meta: Mapping[str, Any], *, proxies: int) -> str:
    """The address of the client that sent a request, without a port; it may be none, or no address at all.

    Behind proxies it is what the outermost one wrote into ``X-Forwarded-For``; any client can send such a header.

    Args:
        meta: Django's ``request.META``.
        proxies: how many proxies stand in front; 0 for the address that is connected.
    """
    named = [part.strip() for part in str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",") if part.strip()]
    address = named[-min(proxies, len(named))] if proxies and named else str(meta.get("REMOTE_ADDR", ""))
    found = _WITH_PORT.fullmatch(address)
    return found[1] or found[2] if found else address


def ip_of(meta: Mapping[str, Any], *, proxies: int) -> str | None:
    """The IP address of the client that sent a request; None where it is not known.

    Args:
        meta: Django's ``request.META``.
        proxies: how many proxies stand in front.
    """
    try:
        found = ip_address(address_of(meta, proxies=proxies).partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


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
