"""Headers that bound what a browser or a cache may do with an answer."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from delayhub.project.browser_middleware import api_prefixes

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
