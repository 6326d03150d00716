"""Problem documents (RFC 9457), for views and for addresses that no view answers."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from django.core.exceptions import DisallowedHost, SuspiciousOperation
from django.http import Http404
from django.test import RequestFactory
from django.urls import include, path

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.problems import (
    MEDIA_TYPE,
    Problem,
    Refused,
    bad_request,
    internal_error,
    malformed_request,
    nothing_there,
    only_known,
    page_not_found,
    permission_denied,
    refused,
    server_error,
)


def test_a_document_says_what_is_wrong_to_machines_and_to_people() -> None:
    problem = Problem(
        "wrong_state",
        "cannot cancel it: it is dead",
        errors=[FieldError("version", "stale", "it has version 3")],
        extra={"state": "dead"},
    )

    assert problem.as_json() == {
        "type": "/api/problems/wrong_state",
        "title": "The state does not allow it",
        "status": 409,
        "code": "wrong_state",
        "detail": "cannot cancel it: it is dead",
        "errors": [{"field": "version", "code": "stale", "message": "it has version 3"}],
        "state": "dead",
    }


def test_a_problem_of_the_whole_request_is_its_own_only_error() -> None:
    (error,) = Problem("not_found", "There is no such job.").as_json()["errors"]

    assert error == {"field": None, "code": "not_found", "message": "There is no such job."}


def test_it_is_sent_as_what_it_is() -> None:
    response = Problem("throttled", "ä", headers={"Retry-After": "5"}).response()

    assert response.status_code == 429
    assert (response["Content-Type"], response["Retry-After"]) == ("application/problem+json", "5")
    assert json.loads(response.content)["detail"] == "ä"


def test_it_travels_up_as_an_exception() -> None:
    problem = Problem("invalid", "no")

    with pytest.raises(Refused, match="no") as refused:
        raise Refused(problem)
    assert refused.value.problem is problem


def test_a_failure_on_our_side_gives_no_details() -> None:
    assert internal_error().as_json()["detail"] == "Something failed on our side; it has been logged."


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/api/v1/nothing", "application/problem+json"),
        ("/api/nothing", "application/problem+json"),
        ("/nothing", "text/html; charset=utf-8"),
        ("/apiary", "text/html; charset=utf-8"),
    ],
)
@pytest.mark.parametrize(
    ("handler", "status"), [(bad_request, 400), (permission_denied, 403), (page_not_found, 404), (server_error, 500)]
)
def test_below_the_api_every_error_is_a_document(path: str, content_type: str, handler: Any, status: int) -> None:
    request = RequestFactory().get(path)

    response = handler(request) if status == 500 else handler(request, Http404())

    assert (response.status_code, response["Content-Type"]) == (status, content_type)


def test_a_project_without_the_api_has_djangos_pages(settings: Any) -> None:
    empty: Any = ModuleType("addresses_of_no_api")
    empty.urlpatterns = []
    settings.ROOT_URLCONF = empty

    assert page_not_found(RequestFactory().get("/api/x"), Http404())["Content-Type"].startswith("text/html")


def test_at_the_root_of_a_site_only_the_apis_own_addresses_have_documents(settings: Any) -> None:
    root: Any = ModuleType("addresses_at_the_root")
    root.urlpatterns = [path("", include("tasksapp.api.urls"))]
    settings.ROOT_URLCONF = root

    assert bad_request(RequestFactory().get("/v1/jobs"), DisallowedHost())["Content-Type"] == MEDIA_TYPE
    assert bad_request(RequestFactory().get("/pages"), DisallowedHost())["Content-Type"].startswith("text/html")


def test_in_a_namespace_of_the_project_errors_have_documents_too(settings: Any) -> None:
    root: Any = ModuleType("addresses_with_a_namespace")
    shop: Any = ModuleType("addresses_of_a_shop")
    shop.urlpatterns, shop.app_name = [path("delay/", include("tasksapp.api.urls"))], "shop"
    root.urlpatterns = [path("shop/", include(shop))]
    settings.ROOT_URLCONF = root

    assert bad_request(RequestFactory().get("/shop/delay/v1/jobs"), DisallowedHost())["Content-Type"] == MEDIA_TYPE
    assert bad_request(RequestFactory().get("/shop/pages"), DisallowedHost())["Content-Type"].startswith("text/html")


def test_a_wrong_host_is_told_apart_from_other_malformed_requests() -> None:
    assert malformed_request(DisallowedHost("elsewhere.example")).code == "unknown_host"
    assert malformed_request(SuspiciousOperation("odd")).code == "malformed"


def test_where_nothing_is_every_method_is_answered_without_a_token() -> None:
    response = nothing_there(RequestFactory().post("/api/v1/nothing"))

    assert (response.status_code, response["Content-Type"]) == (404, MEDIA_TYPE)
    assert nothing_there.csrf_exempt


def test_fields_of_another_kind_of_request_are_known_by_their_names() -> None:
    only_known({"version": 1}, {"version"})

    with pytest.raises(Refused, match="there is no field 'delay'"):
        only_known({"delay": 1}, {"version"})


def test_a_refusal_is_about_one_field() -> None:
    (error,) = refused("delay", "negative", "delay must not be negative").problem.errors

    assert (error.field, error.code, error.message) == ("delay", "negative", "delay must not be negative")
