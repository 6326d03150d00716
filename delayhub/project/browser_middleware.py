"""Django's middleware for people with browsers, without the REST API: skipping it saves a tenth of a call's cost.

The API knows its callers by their keys: then it has no session, no cookie to forge and no message to show. Only for a
request with a session and without a key it looks up who is logged in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.middleware import locale
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils import translation

#: A view of the API, by its name in the URL conf; all others stand below the same prefix.
API_VIEW = "delayhub:job-list"


class _ForBrowsers:
    """Passes requests of the API on unchanged, wherever the URL conf has it."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(self._api):
            return self._beyond(request)
        return super().__call__(request)  # type: ignore[misc]  # the middleware's own, after us in the line

    @cached_property
    def _beyond(self) -> Any:
        """What answers requests that are passed on: past the next middleware too, if it would pass them on as well."""
        # Django wraps each middleware in a function that makes answers of errors, as the one further in does, too.
        inner = getattr(self.get_response, "__wrapped__", None)
        if isinstance(inner, _ForBrowsers) and not isinstance(inner, _ForPeople):
            return inner._beyond
        return self.get_response

    @cached_property
    def _api(self) -> tuple[str, ...]:
        _refuse_unknown_path()
        return api_prefixes()


class _ForPeople(_ForBrowsers):
    """Passes on those requests of the API that name a key, or have no session."""

    def __call__(self, request: HttpRequest) -> Any:
        if "HTTP_AUTHORIZATION" in request.META and request.path_info.startswith(self._api):
            return self._beyond(request)
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            return super(_ForBrowsers, self).__call__(request)  # type: ignore[misc]  # the middleware's own
        return super().__call__(request)


class SessionMiddleware(_ForPeople, sessions.SessionMiddleware):
    """Sessions."""


class _OneRequestsLanguage(locale.LocaleMiddleware):
    def __call__(self, request: HttpRequest) -> Any:
        try:
            return super().__call__(request)
        finally:
            # Django leaves the language on, and the thread's next request may be one of the API, which is in English.
            translation.deactivate()


class LocaleMiddleware(_ForBrowsers, _OneRequestsLanguage):
    """The language: by the cookie of the menu, or by what the browser asks for."""


class AuthenticationMiddleware(_ForPeople, auth.AuthenticationMiddleware):
    """Users."""


class MessageMiddleware(_ForBrowsers, messages.MessageMiddleware):
    """Messages from one page to the next."""


def _refuse_unknown_path() -> None:
    """Raises ImproperlyConfigured where the web server has the site below a path, and SITE_URL does not say so.

    Then pages would be without their styles, and links that are sent without that path.
    """
    if settings.FORCE_SCRIPT_NAME is None and (path := get_script_prefix()) != "/":
        raise ImproperlyConfigured(
            f"the web server has this site below {path}: let DELAYHUB_SITE_URL end with that path"
        )


def api_prefixes() -> tuple[str, ...]:
    """What each ``path_info`` of the API begins with, ``("/api/v1/",)``; empty if the URL conf has no API."""
    try:
        address = reverse(API_VIEW)
    except NoReverseMatch:
        return ()
    # reverse() puts the prefix of the script first, which path_info is without.
    folder = address.removeprefix(get_script_prefix()).rpartition("/")[0]
    return (f"/{folder}/",)


#: Nothing is loaded from elsewhere, and neither scripts nor styles stand in a page. Icons may be data.
POLICY = (
    "default-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
#: On the pages of the API's docs, swagger-ui sets styles on its elements.
DOCS_POLICY = f"{POLICY}; style-src 'self' 'unsafe-inline'"
#: The view of those pages, by its name in the URL conf.
DOCS_VIEW = "delayhub:docs"


def protective_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware: a content security policy for each answer, ``no-store`` for those of the API."""

    api: tuple[str, ...] | None = None

    def protect(request: HttpRequest) -> HttpResponse:
        answer = get_response(request)
        # Django's page for errors in debug mode has its scripts in the page.
        if not settings.DEBUG:
            answer.headers.setdefault("Content-Security-Policy", _policy(request))
        nonlocal api
        if api is None:
            api = api_prefixes()
        if request.path_info.startswith(api):
            answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    return protect


def _policy(request: HttpRequest) -> str:
    return DOCS_POLICY if request.resolver_match and request.resolver_match.view_name == DOCS_VIEW else POLICY
