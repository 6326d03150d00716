"""What all views of the API share: authentication, permissions, JSON and the exception handler."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from django.utils.translation import override
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from tasksapp.access.callers import SessionCaller
from tasksapp.api.http import json_body
from tasksapp.api.http.authentication import ApiKeyAuthentication, SessionAuthentication
from tasksapp.api.http.exception_handler import handle
from tasksapp.api.http.problem_schema import ProblemSchema
from tasksapp.api.http.scopes import Scopes, check_scope
from tasksapp.api.http.served import served
from tasksapp.conf import options


class JsonNegotiation(BaseContentNegotiation):
    """Chooses JSON, whatever the client accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """The JSON parser."""
        del request
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The JSON renderer."""
        del request, format_suffix
        return renderers[0], renderers[0].media_type


class CompactRenderer(JSONRenderer):
    """JSON without spaces, by the standard library: what the views answer needs no encoder of REST framework's."""

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        """The answer as bytes."""
        del args, kwargs
        return b"" if data is None else json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


class ApiViewSet(GenericViewSet[Any]):
    """A view set of the API.

    It is not atomic: each verb has a transaction of its own, so that its answer can say whether the timer was set.
    """

    authentication_classes = [SessionAuthentication, ApiKeyAuthentication]
    permission_classes = [IsAuthenticated]
    content_negotiation_class = JsonNegotiation
    parser_classes = [JSONParser]
    renderer_classes = [CompactRenderer]
    # A project's defaults for these are for its own addresses: its versions would be asked for here, too.
    versioning_class = None
    filter_backends: list[Any] = []
    schema = ProblemSchema()
    #: Whether it answers callers whose tenant is on its way to another site; ``endpoint`` says so of single actions.
    while_moving = False
    #: What each action takes, as its ``endpoint`` says. An action that says none is refused for all callers.
    scopes: ClassVar[Scopes] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        methods = {name: getattr(cls, name) for name in dir(cls)}
        said = {name: method.scope for name, method in methods.items() if hasattr(method, "scope")}
        cls.scopes = {**cls.scopes, **said}

    @classmethod
    def as_view(cls, *args: Any, **kwargs: Any) -> Any:
        """The view, outside of ``ATOMIC_REQUESTS``; no cache stores its answers, and they have ids."""
        return served(super().as_view(*args, **kwargs))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers in English, whatever language the pages are in."""
        with override("en"):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Checks the request; its address is read as UTF-8, whatever ``Content-Type`` names as the charset."""
        if request._request.encoding is not None:
            request._request.encoding = "utf-8"  # others can make text that no database takes, or cannot decode at all
        super().initial(request, *args, **kwargs)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Those that the setting ``API_AUTHENTICATION`` names, or else the view's own."""
        named = options().api_authentication
        return [import_string(name)() for name in named] if named else super().get_authenticators()

    def perform_authentication(self, request: Request) -> None:
        """Asks who calls. A user of a project's own authentication becomes a caller by its permissions."""
        user: Any = request.user  # which is what REST framework's own method asks for
        if user is not None and not hasattr(user, "scopes"):
            caller: Any = SessionCaller(user)
            request.user = caller

    def check_permissions(self, request: Request) -> None:
        """Asks the permissions, and then for the action's scope. Raises APIException and Refused.

        A project that replaces ``permission_classes`` does not switch the scopes off: a key that may only read stays
        one that may only read.
        """
        super().check_permissions(request)
        check_scope(request.user, self.action, scopes=self.scopes)

    def get_exception_handler(self) -> Any:
        """The handler that makes problem documents; the project's own handler is for its own views."""
        return handle


def fields_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request; {} for an empty body. Raises Refused where it is anything else."""
    return _once(request, json_body.fields_of)


def large_object_of(request: Request) -> dict[str, Any]:
    """Return the object in the body of a request that may be as large as a bulk."""
    return _once(request, lambda read: json_body.read_object(read, max_bytes=options().bulk_bytes))


def _once(request: Request, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the body's object, kept for a method that is called again: a request can be read once."""
    asked: Any = request._request
    if "delayhub_object" not in asked.__dict__:
        asked.delayhub_object = read(asked)
    return dict(asked.delayhub_object)
