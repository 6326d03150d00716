"""The page that shows the OpenAPI document: Swagger UI, and a form for the key of a caller.

It needs nothing of the project's settings, neither templates nor static files, and all addresses in it are relative.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NamedTuple

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from tasksapp.api.http.problems import Problem, nothing_there

MAX_AGE_SECONDS = 300


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
        return Problem(status=405, code="method_not_allowed", detail=detail, headers={"Allow": "GET, HEAD"}).response()
    headers = {"Cache-Control": f"max-age={MAX_AGE_SECONDS}"}
    return HttpResponse((file.folder / name).read_bytes(), content_type=file.media_type, headers=headers)
