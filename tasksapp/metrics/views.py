"""The page that Prometheus scrapes, for a scraper with a token, one in a named network, or a person who may."""

from __future__ import annotations

from hmac import compare_digest
from ipaddress import ip_address, ip_network

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from rest_framework.settings import api_settings

from delayhub.client_network import ip_of
from tasksapp.conf import options
from tasksapp.metrics.collector import ReadUnderWay, SiteCollector

#: What a 401 names as the way in.
CHALLENGE = 'Bearer realm="delayhub metrics"'

#: This process' collector. It has a registry of its own: what belongs to one web process says nothing of the site.
site_collector = SiteCollector()
registry = CollectorRegistry()
registry.register(site_collector)
#: What people need who look at the metrics in a browser; it is that of the admin's system page.
PERMISSION = "tasksapp.view_system"


@require_safe
@never_cache
@gzip_page
@transaction.non_atomic_requests
def metrics(request: HttpRequest) -> HttpResponse:
    """The site's numbers in Prometheus' text format or in that of OpenMetrics; 401 for those who may not read them."""
    if not may_scrape(request):
        refusal = "These numbers are for scrapers with a token, from a network that the settings name, and for people"
        refusal += " with the permission to see the system: docs/reference/metrics.md says how.\n"
        return HttpResponse(refusal, status=401, content_type="text/plain", headers={"WWW-Authenticate": CHALLENGE})
    encode, content_type = choose_encoder(request.META.get("HTTP_ACCEPT", ""))
    try:
        return HttpResponse(encode(registry), content_type=content_type)
    except ReadUnderWay as error:
        return HttpResponse(f"{error.__doc__}\n", status=503, content_type="text/plain", headers={"Retry-After": "10"})


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
