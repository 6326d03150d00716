"""Who acts through the admin, for the record."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.settings import api_settings

from delayhub.client_network import ip_of
from tasksapp.access.actors import NAME_LENGTH, Actor


def actor_of(request: HttpRequest) -> Actor:
    """The person who sent the request, and from where."""
    # Behind as many proxies as REST framework is told of: the API and the admin stand behind the same ones.
    address = ip_of(request.META, proxies=api_settings.NUM_PROXIES or 0)
    return Actor(request.user.get_username()[:NAME_LENGTH], address)
