"""What all of the API's views share: who may come in, what they speak, and how an error is told."""

from __future__ import annotations

import json
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from tasksapp.api.http import json_body, transactions
from tasksapp.api.http.authentication import ApiKeyAuthentication
from tasksapp.api.http.exception_handler import handle
from tasksapp.api.http.openapi import ProblemSchema


class JsonNegotiation(BaseContentNegotiation):
    """JSON is spoken here, whatever else a client would like."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """The JSON parser."""
        del request
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The JSON renderer."""
        del request, format_suffix
        return renderers[0], renderers[0].media_type


class CompactRenderer(JSONRenderer):
    """JSON as short as it gets, by the standard library: its values are plain already."""

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        """The bytes of the answer."""
        del args, kwargs
        return b"" if data is None else json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


class ApiViewSet(GenericViewSet[Any]):
    """A view of the API. Not atomic by itself: each verb has a transaction of its own, so what it armed is known."""

    authentication_classes = [ApiKeyAuthentication]
    permission_classes = [IsAuthenticated]
    content_negotiation_class = JsonNegotiation
    parser_classes = [JSONParser]
    renderer_classes = [CompactRenderer]
    schema = ProblemSchema()

    @classmethod
    def as_view(cls, *args: Any, **kwargs: Any) -> Any:
        """The view, outside of ``ATOMIC_REQUESTS``."""
        return transactions.outside(super().as_view(*args, **kwargs))

    def get_exception_handler(self) -> Any:
        """Problem documents, whatever the project's own handler does elsewhere."""
        return handle


def fields_of(request: Request) -> dict[str, Any]:
    """The JSON object a request carries; {} where it carries nothing."""
    return json_body.fields_of(request._request)
