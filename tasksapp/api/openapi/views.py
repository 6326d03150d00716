"""The view of the OpenAPI document, and who may see it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tasksapp.api.http.authentication import SessionAuthentication
from tasksapp.api.http.problems import Problem, nothing_there
from tasksapp.api.http.scopes import ANY_SCOPE
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.openapi.document import openapi_document
from tasksapp.conf import options

MEDIA_TYPE = "application/vnd.oai.openapi+json"
MAX_AGE_SECONDS = 300


class SchemaViews(ApiViewSet):
    """The OpenAPI document.

    Callers of the API see it, by the API's own authentication and permissions, and so do people who are logged in to
    the admin; with ``SCHEMA_ACCESS = "anyone"``, every client does.
    """

    # It is no operation of the API, nor of the project's own document.
    scopes: ClassVar = {"read": ANY_SCOPE}
    schema = None  # type: ignore[assignment]  # the stubs do not know that None leaves a view out

    def read(self, request: Request) -> HttpResponse:
        """The document as JSON."""
        document = openapi_document(prefix=request.path.removesuffix("/schema"))
        return HttpResponse(json.dumps(document, ensure_ascii=False), content_type=MEDIA_TYPE)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Those of the API, after one that knows staff; where every client may see it, one that asks nothing."""
        if _is_public():
            return [StrangerAuthentication()]
        # Not for all who have a session: of people, only staff may see it.
        of_callers = [one for one in super().get_authenticators() if not isinstance(one, SessionAuthentication)]
        return [StaffAuthentication(), *of_callers]

    def get_authenticate_header(self, request: Request) -> Any:
        """The challenge of the API's own authentication: REST framework would ask the first class, which has none."""
        found = super().get_authenticators()
        return found[0].authenticate_header(request) if found else None

    def check_permissions(self, request: Request) -> None:
        """Asks the API's permissions of callers; staff have shown who they are. Raises APIException."""
        if not _is_public() and not isinstance(request.successful_authenticator, StaffAuthentication):
            super().check_permissions(request)


class StaffAuthentication(BaseAuthentication):
    """Knows people who are logged in to the admin, by their session. For reading only: it does not ask for CSRF."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """The person; None where the session is not that of an active member of staff."""
        person = getattr(request._request, "user", None)
        return (person, None) if person is not None and person.is_active and person.is_staff else None


class StrangerAuthentication(BaseAuthentication):
    """Takes every client, and knows none."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """A stranger."""
        del request
        return Stranger(), None


class Stranger:
    """A client that was not asked for a key. REST framework's own needs Django's users installed."""

    pk = None
    is_anonymous = True
    is_active = is_authenticated = is_staff = is_superuser = False


def _is_public() -> bool:
    return options().schema_access == "anyone"


class _File(NamedTuple):
    folder: Any
    media_type: str


_OURS = files("tasksapp") / "api" / "openapi" / "docs"
_SWAGGER_UI = files("drf_spectacular_sidecar") / "static" / "drf_spectacular_sidecar" / "swagger-ui-dist"
#: What the page is made of.
_FILES = {
    "index.html": _File(_OURS, "text/html; charset=utf-8"),
    "docs.css": _File(_OURS, "text/css"),
    "problems.css": _File(_OURS, "text/css"),
    "docs.js": _File(_OURS, "text/javascript"),
    "swagger-ui.css": _File(_SWAGGER_UI, "text/css"),
    "swagger-ui-bundle.js": _File(_SWAGGER_UI, "text/javascript"),
    "favicon-32x32.png": _File(_SWAGGER_UI, "image/png"),
}


@csrf_exempt
@login_not_required
def docs_page(request: HttpRequest, name: str = "index.html") -> HttpResponse:
    """The page, or a file that it loads. Nothing in it is secret: it asks for the document as any caller does."""
    file = _FILES.get(name)
    if file is None:
        return nothing_there(request)
    if request.method not in {"GET", "HEAD"}:
        detail = f"Method {request.method} is not allowed here."
        return Problem("method_not_allowed", detail, headers={"Allow": "GET, HEAD"}).response()
    headers = {"Cache-Control": f"max-age={MAX_AGE_SECONDS}"}
    return HttpResponse((file.folder / name).read_bytes(), content_type=file.media_type, headers=headers)
