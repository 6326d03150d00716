"""Errors as problem documents (RFC 9457), also for addresses that no view answers."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urljoin

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.template.loader import select_template
from django.urls import (
    NoReverseMatch,
    Resolver404,
    URLResolver,
    get_resolver,
    get_script_prefix,
    get_urlconf,
    resolve,
    reverse,
)
from django.utils import translation
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from delayhub.api_models.problems import FieldError
from delayhub.request_ids import current_request_id
from tasksapp.api.http.problem_types import PROBLEM_TYPES
from tasksapp.api.http.served import identified
from tasksapp.models.database_faults import is_away, is_conflict, is_lock_timeout
from tasksapp.stats.database_writes import NoWrites, note_refusal

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document, and the headers that it is sent with.

    Args:
        code: the kind of problem, one of ``PROBLEM_TYPES``, which says the status.
        detail: a sentence for people.
        errors: the faults, where there are several or they belong to fields.
        extra: members that only this kind of problem has, such as the state that won a conflict.
        headers: HTTP headers.
        again_seconds: how soon the same request may be sent again; the header ``Retry-After``.
        own_status: the HTTP status of a kind that is not ours, or that a project's own class gives another one.
    """

    code: str
    detail: str
    _: KW_ONLY
    errors: Sequence[FieldError] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    again_seconds: float | None = None
    own_status: int | None = None

    @property
    def status(self) -> int:
        """The HTTP status that it is sent with."""
        return PROBLEM_TYPES[self.code].status if self.own_status is None else self.own_status

    def as_json(self) -> dict[str, Any]:
        """The document; ``errors`` has at least one entry."""
        errors = self.errors or (FieldError(None, self.code, self.detail),)
        kind = PROBLEM_TYPES.get(self.code)
        document = {
            "type": problem_address(self.code),
            "title": kind.title if kind is not None else HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "errors": [asdict(error) for error in errors],
            **self.extra,
        }
        if request_id := current_request_id.get():
            document["request_id"] = request_id
        return document

    def as_example(self) -> dict[str, Any]:
        """The document as it may look, for the description of the API: without the id of the present request."""
        return {name: value for name, value in self.as_json().items() if name != "request_id"}

    def as_result(self) -> dict[str, Any]:
        """The document among the results of a bulk, which have no headers of their own."""
        seconds = self._retry_after
        return self.as_json() if seconds is None else {**self.as_json(), "retry_after": seconds}

    def response(self) -> HttpResponse:
        """The document as an HTTP response."""
        headers = dict(self.headers)
        if self._retry_after is not None:
            headers["Retry-After"] = str(self._retry_after)
        return HttpResponse(json.dumps(self.as_json()), status=self.status, content_type=MEDIA_TYPE, headers=headers)

    @property
    def _retry_after(self) -> int | None:
        return None if self.again_seconds is None else max(1, math.ceil(self.again_seconds))


def problem_address(code: str) -> str:
    """The address of the page about that kind of problem; a URN where the project has the API in no fixed place."""
    folder = _folder_of_pages(getattr(_resolver(), "urlconf_name", None), get_script_prefix())
    return f"{folder}{code}" if folder else f"urn:delayhub:problem:{code}"


@lru_cache(maxsize=16)
def _folder_of_pages(urlconf: Any, script_prefix: str) -> str | None:
    """The address of the list of problems, for a URL conf and what the web server strips."""
    del urlconf, script_prefix  # reverse() reads them where they are set
    path = _namespaces(_resolver())
    try:
        return None if path is None else reverse(f"{path}:problems")
    except NoReverseMatch:
        return None  # the address has a part that only the request knows


def _resolver() -> URLResolver:
    return get_resolver(get_urlconf())


def _namespaces(resolver: URLResolver) -> str | None:
    """The names before those of the API's addresses, ``delayhub`` or ``shop:delayhub``."""
    for pattern in resolver.url_patterns:
        if not isinstance(pattern, URLResolver):
            continue
        if pattern.app_name == "delayhub":
            return pattern.namespace
        if (inner := _namespaces(pattern)) is not None:
            return f"{pattern.namespace}:{inner}" if pattern.namespace else inner
    return None


class Refused(Exception):
    """Raised where a request is refused; the exception handler answers with the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem

    @classmethod
    def of(cls, code: str, detail: str, **more: Any) -> Self:
        """The refusal with a problem of that kind, and of what else a :class:`Problem` has."""
        return cls(Problem(code, detail, **more))


def only_known(fields: dict[str, Any], known: Set[str]) -> None:
    """Refuses fields that mean nothing here, naming them."""
    if not fields.keys() <= known:
        unknown = [name for name in fields if name not in known]
        errors = [FieldError(name[:100], "unknown", f"there is no field {name[:100]!r}") for name in unknown[:20]]
        raise Refused.of("invalid", errors[0].message, errors=errors)


def refused(field: str | None, code: str, message: str) -> Refused:
    """400, about one field."""
    return Refused.of("invalid", message, errors=[FieldError(field, code, message)])


@csrf_exempt
@login_not_required
@identified
def nothing_there(request: HttpRequest) -> HttpResponse:
    """The view of addresses below the API's prefix that stand for nothing."""
    return Problem("not_found", f"There is nothing at {request.path}.").response()


@identified
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler400`` of a project: a problem document for the API, Django's page elsewhere."""
    if _is_of_api(request):
        return malformed_request(exception).response()
    return defaults.bad_request(request, exception)


@identified
def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler403`` of a project: a problem document for the API, Django's page elsewhere."""
    if _is_of_api(request):
        return Problem("forbidden", "This project does not allow that request.").response()
    return defaults.permission_denied(request, exception)


@identified
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404`` of a project: a problem document for the API, Django's page elsewhere."""
    if _is_of_api(request):
        return nothing_there(request)
    return defaults.page_not_found(request, exception)


@identified
def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500`` of a project: a problem document for the API, Django's page elsewhere.

    Where the error is that the database is away, both say so, with 503.
    """
    error = sys.exception()
    away = isinstance(error, Exception) and is_away(error)
    if not (isinstance(error, Exception) and away):
        return internal_error().response() if _is_of_api(request) else defaults.server_error(request)
    if _is_of_api(request):
        return database_away(error).response()
    is_locked = is_lock_timeout(error) or is_conflict(error)
    return database_away_page(request, is_locked=is_locked, refusal=note_refusal(error))


def database_away_page(
    request: HttpRequest, *, is_locked: bool = False, refusal: NoWrites | None = None
) -> HttpResponse:
    """What a person sees while the database is away: a project's own ``503.html``, else ours. It asks no database.

    Args:
        request: what was asked.
        is_locked: whether the database is there, but what was asked for is locked.
        refusal: why the database is there, but takes no writes.
    """
    # The error may have come from a session, outside of what knows the language.
    with translation.override(translation.get_language_from_request(request)):
        page = select_template(["503.html", "tasksapp/database_away.html"])
        sent = request.method not in ("GET", "HEAD")
        context = {"retry_seconds": RETRY_SECONDS, "sent": sent, "is_locked": is_locked, "refusal": refusal}
        return HttpResponse(page.render(context), status=503, headers={"Retry-After": str(RETRY_SECONDS)})


def malformed_request(error: Exception) -> Problem:
    """The problem document of a request that Django itself refuses."""
    if isinstance(error, DisallowedHost):
        return Problem("unknown_host", "The Host header names no host of this site.")
    return Problem("malformed", "The request is malformed, or more than this site takes.")


def database_away(error: Exception | None = None) -> Problem:
    """The problem document where the database is away, or by that error is locked, full, read-only, or in conflict."""
    if error is not None and is_conflict(error):
        detail = "Other transactions wrote the same rows at the same moment, each time it was tried. Nothing was done."
        return Problem("write_conflict", detail, again_seconds=CONFLICT_SECONDS)
    if error is not None and is_lock_timeout(error):
        detail = (
            "Something else keeps what this needs locked in the database: what waited for it was not done. Ask again, "
            "a create with its idempotency_key, the end of a claim with its token, all else with the version you saw."
        )
        return Problem("database_locked", detail, again_seconds=RETRY_SECONDS)
    match None if error is None else note_refusal(error):
        case NoWrites.FULL:
            detail = "The database's disk is full: nothing was done. The site's operator has to make room."
            return Problem("storage_full", detail, again_seconds=RETRY_SECONDS)
        case NoWrites.READ_ONLY | NoWrites.STANDBY:
            detail = "The database takes no changes at the moment, so nothing was done: ask again."
            return Problem("database_read_only", detail, again_seconds=RETRY_SECONDS)
    detail = (
        "The database does not answer. What was asked for may have been done all the same: "
        "ask again, a create with its idempotency_key and anything else with the version you saw."
    )
    return Problem("database_away", detail, again_seconds=RETRY_SECONDS)


def internal_error() -> Problem:
    """The problem document of an error on our side. It has no details, which could help an attacker."""
    return Problem("internal_error", "Something failed on our side; it has been logged.")


def _is_of_api(request: HttpRequest) -> bool:
    """Whether the request's address is below the API's prefix, or the URL conf gives it to the API anywhere else."""
    try:
        # The schema is directly below the prefix. At the root of a site, all other addresses would be below it too.
        prefix = urljoin(reverse("delayhub:schema"), ".")
        if prefix != get_script_prefix() and request.path.startswith(prefix):
            return True
    except NoReverseMatch:
        pass  # it is not there, or in a namespace of the project
    try:
        match = resolve(request.path_info, urlconf=getattr(request, "urlconf", None))
    except Resolver404:
        return False
    return "delayhub" in match.app_names


#: When a caller should try again.
RETRY_SECONDS = 5
#: The same where transactions met: they have ended by then.
CONFLICT_SECONDS = 1
