"""The address that a request comes from."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.settings import api_settings

from delayhub.client_network import client_of, ip_of


def client_address(request: HttpRequest | Request) -> str:
    """The client's address, or for IPv6 its network, by which one client is known.

    Behind proxies it is what the outermost one wrote into ``X-Forwarded-For``: as many from the right as REST
    framework's setting NUM_PROXIES says. Without that setting it is the address that is connected, since any client can
    send such a header.
    """
    return client_of(request.META, proxies=api_settings.NUM_PROXIES or 0)


def client_ip(request: HttpRequest | Request) -> str | None:
    """The client's IP address itself, for the record; None where it is not known."""
    return ip_of(request.META, proxies=api_settings.NUM_PROXIES or 0)
