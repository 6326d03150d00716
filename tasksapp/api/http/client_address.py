"""The address that a request comes from."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.settings import api_settings

#: One customer of a provider has at least so many bits of IPv6 addresses.
_V6_BITS = 64


def client_address(request: HttpRequest | Request) -> str:
    """The client's address, or for IPv6 its network, by which one client is known.

    Behind proxies it is what the outermost one wrote into ``X-Forwarded-For``: as many from the right as REST
    framework's setting NUM_PROXIES says. Without that setting it is the address that is connected, since any client can
    send such a header.
    """
    proxies: int = api_settings.NUM_PROXIES or 0
    named = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    address = named[-min(proxies, len(named))] if proxies and named else str(request.META.get("REMOTE_ADDR", ""))
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> _V6_BITS << _V6_BITS)}/{_V6_BITS}"
