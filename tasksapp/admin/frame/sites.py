"""The admin site that a request came to. A project may have several."""

from __future__ import annotations

from django.contrib.admin.sites import AdminSite, all_sites
from django.http import HttpRequest


def site_name(request: HttpRequest) -> str:
    """The name of the admin site that the request came to; links stay on it."""
    named = getattr(request, "current_app", None)
    if named:
        return str(named)
    return request.resolver_match.namespace if request.resolver_match else "admin"


def site_of(request: HttpRequest) -> AdminSite:
    """The admin site whose page was asked for."""
    name = site_name(request)
    return next(site for site in all_sites if site.name == name)
