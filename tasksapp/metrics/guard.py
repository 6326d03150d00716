"""Who may read the metrics: a scraper with a token, one in a named network, or a person with the permission."""

from __future__ import annotations

from hmac import compare_digest
from ipaddress import ip_address, ip_network

from django.http import HttpRequest
from rest_framework.settings import api_settings

from delayhub.client_network import ip_of
from tasksapp.conf import options

#: What people need who look at the metrics in a browser; it is that of the admin's system page.
PERMISSION = "tasksapp.view_system"


def may_scrape(request: HttpRequest) -> bool:
    """Whether the request may read the metrics; none may as long as the settings say nothing and no person asks."""
    return _has_token(request) or _is_near(request) or _is_permitted(request)


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    given = token.strip().encode()
    # All are compared, so that the time says nothing about which one was nearly right.
    matches = [compare_digest(given, known.encode()) for known in options().metrics_tokens]
    return scheme.lower() == "bearer" and any(matches)


def _is_near(request: HttpRequest) -> bool:
    networks = options().metrics_networks
    if not networks:
        return False
    proxies = api_settings.NUM_PROXIES or 0
    if not proxies and {"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & request.META.keys():
        # A proxy that the settings do not know: all of its clients would have its own, near address.
        return False
    address = ip_of(request.META, proxies=proxies)
    return address is not None and any(ip_address(address) in ip_network(network) for network in networks)


def _is_permitted(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return user is not None and bool(user.has_perm(PERMISSION))
