"""Conditional requests (RFC 9110): ``ETag``, ``If-None-Match`` for reads, ``If-Match`` for changes."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.http.problems import Refused

ANY = "*"


def is_known(request: HttpRequest | Request, etag: str) -> bool:
    """Whether the caller has that state already, by its ``If-None-Match``."""
    return _names(request.META.get("HTTP_IF_NONE_MATCH"), etag)


def has_condition(request: HttpRequest | Request) -> bool:
    """Whether the caller says which state it saw, by ``If-Match``."""
    return "HTTP_IF_MATCH" in request.META


def check_match(request: HttpRequest | Request, etag: str) -> None:
    """Raises Refused (412) where ``If-Match`` names another state than that one."""
    if has_condition(request) and not _names(request.META["HTTP_IF_MATCH"], etag):
        detail = "The state that If-Match names is not the current one: read it again. Nothing was done."
        raise Refused.of("precondition_failed", detail, headers={"ETag": etag})


def require_match(request: HttpRequest | Request, etag: str) -> None:
    """Raises Refused where there is no ``If-Match`` (428), or it names another state than that one (412)."""
    if not has_condition(request):
        detail = "Send the ETag of what you have read as If-Match, or `*` to change whatever is there."
        raise Refused.of("precondition_required", detail, headers={"ETag": etag})
    check_match(request, etag)


def condition_required() -> Refused:
    """The refusal of a change that says nothing about the state that its caller saw."""
    detail = "This site takes changes only with an If-Match header, or with the version in the body."
    return Refused.of("precondition_required", detail)


def answer(request: HttpRequest | Request, value: object, *, etag: str) -> Response:
    """The answer to a read: the value, or 304 where the caller has it already."""
    if is_known(request, etag):
        return Response(status=304, headers={"ETag": etag})
    return Response(value, headers={"ETag": etag})


def _names(header: str | None, etag: str) -> bool:
    if header is None:
        return False
    if header.strip() == ANY:
        return True
    # Proxies that compress answers make our tags weak. A weak one still names one state of ours, so it counts for
    # changes too: strictly, no caller behind such a proxy could use If-Match.
    return any(named.removeprefix("W/") == etag for named in parse_etags(header))
