"""Callers identify themselves by an API key, ``Authorization: Bearer dh_…``, and the record names them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request
from rest_framework.settings import api_settings

from delayhub.client_network import client_of, ip_of
from tasksapp.access.actors import NAME_LENGTH, Actor
from tasksapp.access.callers import Caller, SessionCaller, find_caller
from tasksapp.access.keys import count_wrong_key
from tasksapp.api.http.problems import Refused
from tasksapp.models.api_key import MOVING
from tasksapp.operations import Starter

#: What a 401 names as the scheme to use.
CHALLENGE = 'Bearer realm="delayhub"'
#: One sentence for all of these: who guesses learns nothing from it.
UNKNOWN = "That API key is not known, or it is disabled or has expired."


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates a request by the API key in its Authorization header."""

    def authenticate(self, request: HttpRequest | Request) -> tuple[Caller, None]:
        """The caller.

        Raises Refused where the key is missing, unknown, disabled or expired (401), where its address has sent too
        many wrong ones (429), and where its tenant is on another site (308) or on its way there (503). A right key is
        not refused for anything else.
        """
        scheme, _, key = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise unauthorized("Send your API key as `Authorization: Bearer dh_…`.")
        caller = find_caller(key.strip(), used_from=lambda: client_ip(request))
        if caller is None:
            wait = count_wrong_key(client_address(request))
            raise _too_many(wait) if wait else unauthorized(UNKNOWN)
        if caller.moved_to and not (caller.moved_to == MOVING and _answers_while_moving(request)):
            raise _elsewhere(caller.moved_to, request)
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        del request
        return CHALLENGE


def unauthorized(detail: str) -> Refused:
    """The refusal of a caller that is not known (401)."""
    return Refused.of("unauthorized", detail, headers={"WWW-Authenticate": CHALLENGE})


def _too_many(wait_seconds: float) -> Refused:
    detail = (
        "That API key is not known, or it is disabled or has expired, and your address has sent too many such keys. "
        "Send no more of them until the time in Retry-After; a right key passes at once."
    )
    return Refused.of("too_many_wrong_keys", detail, again_seconds=wait_seconds)


def _answers_while_moving(request: HttpRequest | Request) -> bool:
    context: Any = getattr(request, "parser_context", None)
    return bool(context) and getattr(context["view"], "while_moving", False)


def _elsewhere(moved_to: str, request: HttpRequest | Request) -> Refused:
    if moved_to == MOVING:
        detail = "Your jobs are being moved to another site. Send the request again after the time in Retry-After."
        return Refused.of("moving", detail, again_seconds=2)
    # A path that this site is below is that of the other one too, unless its address has one of its own.
    path = request.get_full_path_info() if urlsplit(moved_to).path.strip("/") else request.get_full_path()
    address = moved_to.rstrip("/") + path
    detail = f"Your jobs have been moved to another site: send the request to {address}."
    return Refused.of("moved", detail, headers={"Location": address})


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


class SessionAuthentication(BaseAuthentication):
    """Authenticates a request by the session of a user of Django, where it names no key."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """The user as a caller; None where a key was sent, or where the session has no user.

        Raises Refused (403) where the request would change something and has no CSRF token: another site could have
        made the person's browser send it.
        """
        if "HTTP_AUTHORIZATION" in request.META:
            return None
        user = getattr(request._request, "user", None)
        if user is None or not user.is_authenticated or not user.is_active:
            return None
        _check_csrf(request)
        return SessionCaller(user), None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401, which asks for a key."""
        del request
        return CHALLENGE


def _check_csrf(request: Request) -> None:
    check: Any = CSRFCheck(lambda _: None)  # type: ignore[arg-type]  # it is asked for its reason only
    check.process_request(request)
    reason = check.process_view(request, None, (), {})
    if reason:
        raise Refused.of("csrf_failed", f"A request by the session of a person needs the header X-CSRFToken: {reason}")


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
