"""The admin site that a request came to."""

from __future__ import annotations

from django.contrib.admin.sites import AdminSite, all_sites
from django.http import HttpRequest


def site_of(request: HttpRequest) -> AdminSite:
    """The admin site whose page was asked for. A project may have several."""
    name = request.resolver_match.namespace if request.resolver_match else "admin"
    return next(site for site in all_sites if site.name == name)
