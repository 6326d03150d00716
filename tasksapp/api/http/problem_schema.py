"""The OpenAPI document of the API, with the problem documents of every operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.problems import MEDIA_TYPE, Problem, database_away
from tasksapp.api.http.scopes import scope_missing
from tasksapp.models.api_key import Scope

Method = TypeVar("Method", bound=Callable[..., Any])

#: The schema of problem documents, among the document's components.
PROBLEM = {
    "type": "object",
    "description": "A problem document (RFC 9457). Some problems have members of their own, such as `state`.",
    "required": ["type", "title", "status", "code", "detail", "errors"],
    "properties": {
        "type": {
            "type": "string",
            "description": "The address of a page about this kind of problem; relative ones are to the request's own.",
            "example": "/api/problems/invalid",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "The kind of problem, for machines; `type` ends with it."},
        "detail": {"type": "string"},
        "request_id": {"type": "string", "description": "As in the header `X-Request-Id`; the site's log has it, too."},
        "retry_after": {
            "type": "integer",
            "description": "In a bulk: seconds to wait, as in the header `Retry-After`.",
        },
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {
                    "field": {"type": ["string", "null"], "description": "Null: the whole request."},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                },
            },
        },
    },
    # Such as ``state``: some kinds of problems have members of their own.
    "additionalProperties": True,
}
_PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}
_RETRY_AFTER = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}

#: What an operation may be refused for: all of them, those on one thing, those with a body, and those that change one
#: thing. Each with its own reason, and a problem as it may look.
_ALWAYS = {
    400: ("Malformed or invalid; `errors` names each field.", Problem(
        "invalid", "there is no field 'colour'",
        errors=[FieldError("colour", "unknown", "there is no field 'colour'")],
    )),
    401: ("The API key is missing or not valid.", Problem(
        "unauthorized", "That API key is not known, or it is disabled."
    )),
    403: ("The API key lacks the scope of the operation, which `scope` names.", scope_missing(Scope.JOBS_WRITE)),
    429: ("Too many calls, or too many wrong API keys from one address; see `Retry-After`.", Problem(
        "throttled", "Request was throttled. Expected available in 30 seconds."
    )),
    503: ("The database does not answer; see `Retry-After`.", database_away()),
}  # fmt: skip
_OF_ONE = {
    404: ("It does not exist.", Problem(
        "not_found", "There is no job 01a1fcb9-e182-7773-bac4-bf777e5e56f2."
    )),
}  # fmt: skip
_WITH_BODY = {
    411: ("The body has no Content-Length, and the web server does not read such bodies.", Problem(
        "length_required",
        "Send the body with a Content-Length: this web server does not read a body of unknown length.",
    )),
    413: ("The body is too large.", Problem(
        "too_large", "The body may have 200704 bytes, got 300000."
    )),
    415: ("The body is not application/json.", Problem(
        "unsupported_media_type", "The body must be application/json, got text/plain."
    )),
}  # fmt: skip
_CHANGING = {
    409: ("A conflict with the status (`state`), its version, an idempotency key or another live job.", Problem(
        "wrong_state", "cannot cancel it: it is dead", extra={"state": "dead"}
    )),
}  # fmt: skip
_CONDITIONAL = {
    412: ("It has changed since it was read: `If-Match` names another state.", Problem(
        "precondition_failed", "It has changed since you read it: read it again, and send its new ETag as If-Match.",
    )),
    428: ("`If-Match` is missing.", Problem(
        "precondition_required", "Send the ETag of what you have read as If-Match, or `*` to change whatever is there.",
    )),
}  # fmt: skip
_KEYED = {
    422: ("The idempotency key belongs to another request; `job_id` is the job that it made.", Problem(
        "idempotency_key_taken", "the idempotency key 'close-42' belongs to another request",
        extra={"job_id": "01a1fcb9-e182-7773-bac4-bf777e5e56f2"},
    )),
}  # fmt: skip


#: Words of summaries that no operation id has.
_ARTICLES = frozenset({"a", "an", "the"})


class ProblemSchema(AutoSchema):
    """drf-spectacular's schema, with problem documents added to every operation.

    A serializer may have ``example``, a value that is valid, and ``rules``, which are JSON Schema's: what its fields
    cannot say. No request takes fields that it does not name.
    """

    def get_operation_id(self) -> str:
        """Verb and resource, as the summary has them: ``cancel_job``, ``list_job_attempts``."""
        words = str(self.get_summary()).lower().replace("'s", "").split()
        return "_".join(word for word in words if word not in _ARTICLES)

    def get_response_serializers(self) -> Any:
        """What the view set is about, with the status of the method; for all that say nothing else."""
        view: Any = self.view
        return {getattr(view, view.action).status: view.serializer_class(many=view.action == "list")}

    def get_paginated_name(self, serializer_name: str) -> str:
        """Of a page of a list, such as ``AttemptPage``."""
        return f"{serializer_name}Page"

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        has_body = "requestBody" in operation
        has_key = any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", ()))
        has_condition = any(each["name"] == "If-Match" for each in operation.get("parameters", ()))
        problems = {
            **_ALWAYS,
            **(_KEYED if has_key and getattr(self.view, "action", None) != "bulk" else {}),
            **(_CONDITIONAL if has_condition else {}),
            **(_OF_ONE if "{" in self.path else {}),
            **(_WITH_BODY if has_body else {}),
            **(_CHANGING if self.method != "GET" and getattr(self.view, "action", None) != "bulk" else {}),
        }
        for status, (description, problem) in sorted(problems.items()):
            content = {MEDIA_TYPE: {"schema": _PROBLEM_REF, "example": problem.as_example()}}
            answer = {"description": description, "content": content}
            headers = {"headers": _RETRY_AFTER} if status in {429, 503} else {}
            operation["responses"].setdefault(str(status), {**answer, **headers})
        self._name_scope(operation)
        return operation

    def _name_scope(self, operation: dict[str, Any]) -> None:
        """Says which scope the operation takes: in words, and for machines."""
        scope = getattr(self.view, "scopes", {}).get(getattr(self.view, "action", None))
        if scope is None:
            return
        operation["x-required-scope"] = scope.value
        said = f"Takes the scope `{scope.value}`."
        operation["description"] = f"{operation['description']}\n\n{said}" if operation.get("description") else said

    def _map_basic_serializer(self, serializer: Any, direction: str) -> dict[str, Any]:
        mapped: dict[str, Any] = super()._map_basic_serializer(  # type: ignore[no-untyped-call]  # it has no types
            serializer, direction
        )
        if direction == "request":
            mapped["additionalProperties"] = False
        mapped |= getattr(serializer, "rules", {})
        if (example := getattr(serializer, "example", None)) is not None:
            mapped["example"] = example
        return mapped


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular's registry metaclass
    """Describes sessions to drf-spectacular."""

    target_class = "tasksapp.api.http.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "A person who is logged in to the site. Changes need the header `X-CSRFToken` too.",
        }


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular's registry metaclass
    """Describes API keys to drf-spectacular."""

    target_class = "tasksapp.api.http.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        scopes = {scope.value: str(scope.label) for scope in Scope}
        said = "\n".join(f"- `{name}`: {meaning}" for name, meaning in scopes.items())
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "dh_…",
            "description": f"An API key. It has some of these scopes:\n\n{said}",
            "x-scopes": scopes,
        }
