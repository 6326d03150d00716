"""Every error of the API becomes a problem document; our own failures are logged and give nothing away."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import BadRequest, DisallowedHost, SuspiciousOperation, TooManyFieldsSent
from django.http import Http404
from rest_framework import exceptions

from tasksapp import errors
from tasksapp.api.http.exception_handler import handle, problem_of
from tasksapp.api.http.problems import Refused

JOB = UUID(int=7)
CONTEXT: dict[str, Any] = {
    "request": SimpleNamespace(path="/api/v1/jobs"),
    "view": SimpleNamespace(allowed_methods=["GET", "POST"]),
}


@pytest.mark.parametrize(
    ("error", "status", "code", "extra"),
    [
        (errors.InvalidJob("delay", "negative", "not negative"), 400, "invalid", {}),
        (errors.KeyInUse(), 409, "idempotency_key_in_use", {}),
        (errors.KeyTaken("k", JOB), 422, "idempotency_key_taken", {"job_id": str(JOB)}),
        (errors.JobDeleted(JOB), 409, "job_deleted", {"job_id": str(JOB)}),
        (errors.WrongState(JOB, verb="cancel", status="dead"), 409, "wrong_state", {"state": "dead"}),
        (
            errors.VersionConflict(JOB, asked=1, version=3, status="pending"),
            409,
            "version_conflict",
            {"state": "pending", "version": 3},
        ),
        (errors.SeveralJobs("close", "42", [JOB]), 409, "several_jobs", {"ids": [str(JOB)]}),
        (errors.JobNotFound("no job of close"), 404, "not_found", {}),
        (Http404(), 404, "not_found", {}),
        # of Django, where no middleware has asked for the host before
        (DisallowedHost("elsewhere.example"), 400, "unknown_host", {}),
        (SuspiciousOperation("odd"), 400, "malformed", {}),
        (TooManyFieldsSent("The number of parameters exceeded 1000."), 400, "malformed", {}),
        (BadRequest(), 400, "malformed", {}),
        (Refused.of("too_large", "too large"), 413, "too_large", {}),
        # of REST framework, or of what a project has put into a view set
        (exceptions.NotAuthenticated(), 401, "unauthorized", {}),
        (exceptions.AuthenticationFailed(), 401, "unauthorized", {}),
        (exceptions.PermissionDenied(), 403, "forbidden", {}),
        (exceptions.MethodNotAllowed("DELETE"), 405, "method_not_allowed", {}),
        (exceptions.NotAcceptable(), 406, "not_acceptable", {}),
        (exceptions.ValidationError("no"), 400, "invalid", {}),
    ],
)
def test_a_refusal_has_its_status_its_code_and_what_won(
    error: Exception, status: int, code: str, extra: dict[str, Any]
) -> None:
    problem = problem_of(error)

    assert problem is not None
    document = problem.as_json()
    assert (problem.status, problem.code) == (status, code)
    assert {name: document[name] for name in extra} == extra
    assert document["detail"]


@pytest.mark.parametrize(
    ("error", "field", "code"),
    [
        (errors.InvalidJob("delay", "negative", "not negative"), "delay", "negative"),
        (errors.KeyTaken("k", JOB), "idempotency_key", "taken"),
        (errors.VersionConflict(JOB, asked=1, version=3, status="pending"), "version", "stale"),
        (errors.JobNotFound("no job"), None, "not_found"),
    ],
)
def test_the_field_that_is_to_blame_is_named(error: Exception, field: str | None, code: str) -> None:
    problem = problem_of(error)

    assert problem is not None
    (named,) = problem.as_json()["errors"]
    assert (named["field"], named["code"]) == (field, code)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        # a wait is rounded up, or the caller would come back too soon
        (errors.TooManyInserts("close", retry_after_seconds=1.2), "2"),
        (errors.TooManyInserts("close", retry_after_seconds=0.001), "1"),
        (exceptions.Throttled(wait=29.5), "30"),
        # REST framework's throttles may know of no time
        (exceptions.Throttled(), "1"),
    ],
)
def test_a_caller_who_comes_too_often_is_answered_with_a_time(error: Exception, seconds: str) -> None:
    response = handle(error, CONTEXT)

    assert response.status_code == 429
    assert response.get("Retry-After") == seconds


def test_a_caller_without_a_key_gets_the_challenge() -> None:
    error: Any = exceptions.NotAuthenticated()
    error.auth_header = 'Bearer realm="delayhub"'

    assert handle(error, CONTEXT)["WWW-Authenticate"] == 'Bearer realm="delayhub"'


def test_a_wrong_method_is_answered_with_the_right_ones() -> None:
    assert handle(exceptions.MethodNotAllowed("DELETE"), CONTEXT)["Allow"] == "GET, POST"


def test_a_failure_on_our_side_is_logged_and_gives_no_details(caplog: pytest.LogCaptureFixture) -> None:
    assert problem_of(RuntimeError("a secret")) is None

    response = handle(RuntimeError("a secret"), CONTEXT)

    assert response.status_code == 500
    assert b"secret" not in response.content
    assert json.loads(response.content)["type"] == "/api/problems/internal_error"
    assert "/api/v1/jobs failed" in caplog.text
    assert "a secret" in caplog.text
