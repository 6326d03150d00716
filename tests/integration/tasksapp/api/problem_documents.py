"""Refusals of the REST API: problem documents, as RFC 9457 has them."""

from __future__ import annotations

import json
from typing import Any


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem document of a refusal with that status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(response.content)
    assert document["status"] == status
    assert document["errors"]
    return document
