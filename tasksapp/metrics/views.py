"""The page that Prometheus scrapes."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from tasksapp.metrics.collector import ReadUnderWay, SiteCollector
from tasksapp.metrics.guard import may_scrape

#: What a 401 names as the way in.
CHALLENGE = 'Bearer realm="delayhub metrics"'

#: This process' collector. It has a registry of its own: what belongs to one web process says nothing of the site.
site_collector = SiteCollector()
registry = CollectorRegistry()
registry.register(site_collector)


@require_safe
@never_cache
@gzip_page
@transaction.non_atomic_requests
def metrics(request: HttpRequest) -> HttpResponse:
    """The site's numbers in Prometheus' text format or in that of OpenMetrics; 401 for those who may not read them."""
    if not may_scrape(request):
        refusal = "These numbers are for scrapers with a token, from a network that the settings name, and for people"
        refusal += " with the permission to see the system: docs/metrics.md says how.\n"
        return HttpResponse(refusal, status=401, content_type="text/plain", headers={"WWW-Authenticate": CHALLENGE})
    encode, content_type = choose_encoder(request.META.get("HTTP_ACCEPT", ""))
    try:
        return HttpResponse(encode(registry), content_type=content_type)
    except ReadUnderWay as error:
        return HttpResponse(f"{error.__doc__}\n", status=503, content_type="text/plain", headers={"Retry-After": "10"})
