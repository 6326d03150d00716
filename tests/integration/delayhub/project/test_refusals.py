"""What is refused before Django sees it: a problem document for callers of the API, text for all others."""

from __future__ import annotations

import json
from typing import Any

from delayhub.project.refusals import refuse


def refused(path: str) -> tuple[str, dict[str, str], bytes]:
    """Status line, headers and body of a refusal at that path."""
    told: list[Any] = []
    environ = {"PATH_INFO": path, "HTTP_X_REQUEST_ID": "r-1"}
    (body,) = refuse(
        environ, lambda *given: told.extend(given), status=503, code="busy", detail="Try again.",
        headers={"Retry-After": "1"},
    )  # fmt: skip
    return told[0], dict(told[1]), body


def test_callers_of_the_api_get_a_problem_document() -> None:
    line, headers, body = refused("/api/v1/jobs")

    document = json.loads(body)
    assert (line, headers["Content-Type"]) == ("503 Service Unavailable", "application/problem+json")
    assert (headers["Retry-After"], headers["X-Request-Id"]) == ("1", "r-1")
    assert (document["type"], document["request_id"]) == ("/api/problems/busy", "r-1")


def test_all_others_get_a_line_of_text() -> None:
    line, headers, body = refused("/admin/login/")

    assert (line, headers, body) == (
        "503 Service Unavailable", {"Content-Type": "text/plain", "Retry-After": "1"}, b"Try again.\n",
    )  # fmt: skip
