"""Headers that bound what a browser or a cache may do with an answer."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from delayhub.project.browser_middleware import api_prefixes

#: Nothing is loaded from elsewhere and no script stands in a page. Styles may: swagger-ui sets
#: them on its elements, and its icons are data.
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


def protective_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware: a content security policy for each answer, ``no-store`` for those of the API."""

    api: tuple[str, ...] | None = None

    def protect(request: HttpRequest) -> HttpResponse:
        answer = get_response(request)
        # Django's page for errors in debug mode has its scripts in the page.
        if not settings.DEBUG:
            answer.headers.setdefault("Content-Security-Policy", POLICY)
        nonlocal api
        if api is None:
            api = api_prefixes()
        if request.path_info.startswith(api):
            answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    return protect
