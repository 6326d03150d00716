"""endpoint: the one line above a method of a view, which says its scope, its words, and what it takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.json_body import fields_of
from tasksapp.api.http.problem_schema import ProblemSchema
from tasksapp.api.http.problems import only_known, refused
from tasksapp.models.api_key import Scope
from tasksapp.models.conflicts import repeated


def endpoint(
    summary: str,
    scope: Scope | None,
    *,
    get: str | None = None,
    post: str | None = None,
    put: str | None = None,
    detail: bool = True,
    options: Mapping[str, Any] = MappingProxyType({}),
    takes: type[Serializer[Any]] | None = None,
    gives: Any = None,
    status: int = 200,
    once: bool = False,
    **description: Any,
) -> Callable[[Any], Any]:
    """Makes a method of a view set answer requests.

    Args:
        summary: a verb and a resource, by which OpenAPI and made clients name it: "Cancel a job".
        scope: what a caller needs; ``ANY_SCOPE`` for a key, whatever it may do.
        get, post, put: its address below that of the resource, where REST framework does not know it by its name.
        detail: whether that is the address of one resource, not of all.
        options: attributes of the view set that are others at that address.
        takes: describes the body. The method gets its fields as ``fields``: none that is not known, and all that are
            required; what they may hold is for the method to judge, unless this is a CheckedRequest. A verb that takes
            nothing refuses every field, but a method with ``request`` among its descriptions reads the request itself.
        gives: what the answer is, by status where there are several; None for what the view set is about.
        status: of the answer, where there is one.
        once: whether it does more than one transaction, such as a call of somebody else's server: it is not made again
            where its transaction met another one, as all others are.
        description: what else ``extend_schema`` of drf-spectacular takes.
    """
    given = {"get": get, "post": post, "put": put}
    addresses: dict[Any, str] = {way: path for way, path in given.items() if path is not None}
    described = {"summary": summary, **description}
    if takes is not None or (post is not None and "request" not in description):
        described["request"] = takes
    if gives is not None:
        described["responses"] = gives if isinstance(gives, dict) else {status: gives}

    def decorate(method: Any) -> Any:
        again: Any = method if once else repeated(_with_own_fields(method))
        made = _with_fields(again, takes) if "request" not in description and "request" in described else again
        made.scope, made.status = scope, status
        for way, path in addresses.items():
            made = action(methods=[way], url_path=path, detail=detail, **options)(made)
        if not addresses:
            made.kwargs = {}  # where actions have theirs, and extend_schema looks for the class
        # Ours, whatever the project's DEFAULT_SCHEMA_CLASS is.
        made.kwargs.setdefault("schema", ProblemSchema)
        return extend_schema(**described)(made)

    return decorate


def _with_own_fields(method: Any) -> Any:
    """The method, which may take fields out of what it gets: a second call gets all of them again."""

    @wraps(method)
    def run(*args: Any, **given: Any) -> Any:
        if "fields" in given:
            given["fields"] = dict(given["fields"])
        return method(*args, **given)

    return run


def _with_fields(method: Any, takes: type[Serializer[Any]] | None) -> Any:
    """The method, which gets the fields of the body."""
    described = None if takes is None else takes()
    described_fields = {} if described is None else described.fields
    known, required = frozenset(described_fields), [name for name, field in described_fields.items() if field.required]

    @wraps(method)
    def run(self: Any, request: Request, **given: Any) -> Any:
        fields = fields_of(request._request)
        only_known(fields, known)
        for name in required:
            if name not in fields:
                raise refused(name, "required", f"{name} is required")
        if isinstance(described, CheckedRequest):
            fields = described.judged(fields)
        if takes is not None:
            given["fields"] = fields
        return method(self, request, **given)

    return run
