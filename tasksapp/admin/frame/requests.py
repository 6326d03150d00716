"""What a request to the admin says: to which admin site it came, of which there may be several, and who sent it."""

from __future__ import annotations

from django.contrib.admin.sites import AdminSite, all_sites
from django.http import HttpRequest
from rest_framework.settings import api_settings

from delayhub.client_network import ip_of
from tasksapp.access.actors import NAME_LENGTH, Actor

#: Digits of a 64-bit primary key; databases refuse longer numbers.
_LONGEST_KEY = 19


def row_number(text: str) -> int | None:
    """The number of a row in an address or a form; None where the text can be none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _LONGEST_KEY else None


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


def actor_of(request: HttpRequest) -> Actor:
    """The person who sent the request, and from where."""
    # Behind as many proxies as REST framework is told of: the API and the admin stand behind the same ones.
    address = ip_of(request.META, proxies=api_settings.NUM_PROXIES or 0)
    return Actor(request.user.get_username()[:NAME_LENGTH], address)
