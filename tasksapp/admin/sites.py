"""The admin site that a request came to, and what all its pages show."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.sites import AdminSite, all_sites
from django.http import HttpRequest


def site_of(request: HttpRequest) -> AdminSite:
    """The admin site whose page was asked for. A project may have several."""
    name = request.resolver_match.namespace if request.resolver_match else "admin"
    return next(site for site in all_sites if site.name == name)


def page_context(request: HttpRequest, *, title: str) -> dict[str, Any]:
    """What the frame of a page needs: that of its site, and the title; its links lead to the same site."""
    site = site_of(request)
    request.current_app = site.name
    return {**site.each_context(request), "title": title}
