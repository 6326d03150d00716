"""Problem documents as exceptions; the tables, of the Python client and of the TypeScript client."""

from __future__ import annotations

import inspect
import re

import httpx
import pytest

import delayhub.client
from delayhub.client import errors
from tests.answering_site import Site


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid", errors.InvalidRequest),
        (422, "idempotency_key_reused", errors.InvalidRequest),
        (401, "unauthorized", errors.Unauthorized),
        (403, "scope_missing", errors.Forbidden),
        (404, "not_found", errors.NotFound),
        (409, "something_new", errors.Conflict),  # a code of a newer site: its status says enough
        (409, "wrong_state", errors.WrongState),
        (409, "several_jobs", errors.SeveralJobs),
        (409, "idempotency_key_taken", errors.IdempotencyKeyTaken),
        (409, "version_conflict", errors.PreconditionFailed),
        (412, "version_conflict", errors.PreconditionFailed),
        (428, "precondition_required", errors.PreconditionRequired),
        (429, "throttled", errors.RateLimited),
        (500, "internal_error", errors.ServerError),
        (503, "database_away", errors.ServerUnavailable),
        (504, "proxy", errors.ServerUnavailable),
    ],
)
@pytest.mark.parametrize("uri", ["urn:delayhub:problem:{}", "https://delay.example/api/problems/{}"])
@pytest.mark.usefixtures("over")
def test_each_kind_of_problem_has_its_class(status: int, code: str, kind: type[Exception], uri: str) -> None:
    refusal = httpx.Response(status, json={"type": uri.format(code), "detail": "Why."})

    with pytest.raises(errors.Problem) as found:
        Site(refusal).client(retries=0).jobs.create("order.close")

    assert type(found.value) is kind
    assert found.value.code == code
    assert str(found.value) == f"POST /jobs was answered {status}: Why."


@pytest.mark.usefixtures("over")
def test_a_problem_has_what_its_document_says() -> None:
    document = {
        "type": "urn:delayhub:problem:wrong_state",
        "detail": "it is dead",
        "state": "dead",
        "errors": [{"field": "delay", "code": "negative", "message": "delay may not be negative"}],
    }
    headers = {"Retry-After": "2", "X-Request-ID": "r-1"}

    with pytest.raises(errors.WrongState) as found:
        Site(httpx.Response(409, json=document, headers=headers)).client().jobs.cancel("1")

    assert (found.value.state, found.value.retry_after, found.value.request_id) == ("dead", 2.0, "r-1")
    assert found.value.errors == [errors.FieldError("delay", "negative", "delay may not be negative")]


@pytest.mark.parametrize("document", [{}, {"errors": "none"}, {"errors": [1], "type": None}])
@pytest.mark.usefixtures("over")
def test_a_strange_document_is_a_problem_all_the_same(document: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequest) as found:
        Site(httpx.Response(400, json=document)).client().jobs.read("1")

    assert found.value.errors == []


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    drawn = re.findall(r"^    ([│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    in_code = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.ApiError)
    }

    above: list[str] = []
    for branches, name in drawn:
        depth = len(branches) // 4
        assert depth == 0 or issubclass(in_code[name], in_code[above[depth - 1]]), name
        above[depth:] = [name]
    assert {name for _, name in drawn} >= set(in_code)
    assert set(in_code) <= set(delayhub.client.__all__)
