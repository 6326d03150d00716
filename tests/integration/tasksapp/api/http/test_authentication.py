"""A caller has a valid key, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer dh_wrong", "Basic dXNlcjpwYXNz"])
def test_a_caller_without_a_valid_key_is_refused(client: Any, db: None, header: str) -> None:
    response = client.get("/api/v1/jobs", headers={"authorization": header} if header else {})

    problem(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")
