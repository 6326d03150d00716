"""Who acts through the API, for the record."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request

from tasksapp.access.actors import NAME_LENGTH, Actor
from tasksapp.access.callers import Caller
from tasksapp.api.http.authentication import client_ip
from tasksapp.operations import Starter


def actor_of(request: Request) -> Actor:
    """The holder of the request's key, or the user of a project with an authentication of its own."""
    return _actor(request.user, request._request)


def creator_of(request: HttpRequest) -> Actor:
    """The same of a request that was authenticated by ``direct_view``; the address is left out, as rows have none."""
    return _actor(request.user, None)


def starter_of(request: Request) -> Starter:
    """The same, as operations keep it: they go on only as long as this key or user may."""
    user: Any = request.user
    if isinstance(user, Caller):
        # A caller without a key's row is the project's own: what it may do is for the project to judge.
        return Starter(actor_of(request), api_key_id=user.key_id or None)
    return Starter(actor_of(request), user_id=getattr(user, "pk", None))


def _actor(user: object, request: HttpRequest | None) -> Actor:
    address = None if request is None else client_ip(request)
    if isinstance(user, Caller):
        return Actor.of_key(user.name, address=address)
    named = getattr(user, "get_username", None)
    return Actor((named() if named else str(user))[:NAME_LENGTH], address)
