"""The OpenAPI document of the API, with the problem documents of every operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema

from tasksapp.api.http.problems import MEDIA_TYPE

Method = TypeVar("Method", bound=Callable[..., Any])

_PROBLEM = {
    "type": "object",
    "description": "A problem document (RFC 9457). Some problems have members of their own, such as `state`.",
    "required": ["type", "title", "status", "detail", "errors"],
    "properties": {
        "type": {"type": "string", "example": "urn:delayhub:problem:invalid"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {
                    "field": {"type": "string", "nullable": True, "description": "Null: the whole request."},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                },
            },
        },
    },
}

_READING = {
    "400": "Malformed or invalid; `errors` names each field.",
    "401": "The API key is missing or not valid.",
    "404": "It does not exist.",
    "406": "The API answers in JSON only.",
}
_WRITING = {
    "409": "A conflict with the job's status (`state`), its version, an idempotency key or another live job.",
    "413": "The body is too large.",
    "415": "The body is not application/json.",
    "429": "The insert rate of the biz type is used up; see `Retry-After`.",
}


class ProblemSchema(AutoSchema):
    """drf-spectacular's schema, with problem documents added to every operation."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        problems = _READING if self.method == "GET" else {**_READING, **_WRITING}
        for status, description in problems.items():
            operation["responses"].setdefault(status, {"description": description, "content": self._content()})
        return operation

    def _content(self) -> dict[str, Any]:
        return {MEDIA_TYPE: {"schema": _PROBLEM}}


def described(**description: Any) -> Callable[[Method], Method]:
    """drf-spectacular's ``extend_schema`` for our schema class, whatever the project's DEFAULT_SCHEMA_CLASS is."""

    def describe(method: Any) -> Any:
        if not hasattr(method, "kwargs"):
            method.kwargs = {}  # where actions have theirs, and extend_schema looks for the class
        method.kwargs.setdefault("schema", ProblemSchema)
        return extend_schema(**description)(method)

    return describe


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular's registry metaclass
    """Describes API keys to drf-spectacular."""

    target_class = "tasksapp.api.http.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "dh_…"}
