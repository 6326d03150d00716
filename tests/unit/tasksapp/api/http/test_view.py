"""What all view sets of the API share: JSON in and out, whatever a client would like."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from tasksapp.api.http.problems import Refused
from tasksapp.api.http.scopes import ANY_SCOPE
from tasksapp.api.http.view import ApiViewSet, CompactRenderer, fields_of


class Echo(ApiViewSet):
    """Gives back what it was sent; refuses a body with ``refuse`` in it."""

    authentication_classes = []
    permission_classes = []
    scopes = {"create": ANY_SCOPE}

    def create(self, request: Request) -> Response:
        fields = fields_of(request)
        if "refuse" in fields:
            raise Refused.of("wrong_state", "refused")
        return Response(fields)


def ask(raw: bytes, **headers: str) -> Any:
    """The rendered response of the view."""
    request = APIRequestFactory().post("/echo", raw, content_type="application/json", headers=headers)
    return Echo.as_view({"post": "create"})(request).render()


def test_what_is_sent_is_read_and_answered_without_a_space() -> None:
    response = ask('{"a": [1, "ä"]}'.encode())

    assert response.content == '{"a":[1,"ä"]}'.encode()
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*", "nonsense"])
def test_json_is_the_answer_whatever_a_client_accepts(accept: str) -> None:
    assert ask(b"{}", accept=accept)["Content-Type"] == "application/json"


def test_no_body_is_no_fields() -> None:
    assert ask(b"").content == b"{}"


def test_an_empty_answer_has_no_bytes() -> None:
    assert CompactRenderer().render(None) == b""


def test_a_refusal_is_a_problem_document() -> None:
    request = APIRequestFactory().post("/echo", b'{"refuse": 1}', content_type="application/json")

    response = Echo.as_view({"post": "create"})(request)

    assert (response.status_code, response["Content-Type"]) == (409, "application/problem+json")


def test_a_view_is_for_callers_with_a_key_and_outside_of_atomic_requests() -> None:
    view: Any = ApiViewSet.as_view({"get": "list"})

    assert ApiViewSet.permission_classes == [IsAuthenticated]
    assert view._non_atomic_requests == set(connections)
