"""A caller has a valid key, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasksapp.models import ApiKey, BizType, Job
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer dh_wrong", "Basic dXNlcjpwYXNz"])
def test_a_caller_without_a_valid_key_is_refused(client: Any, db: None, header: str) -> None:
    response = client.get("/api/v1/jobs", headers={"authorization": header} if header else {})

    problem(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "revoke", [lambda: ApiKey.objects.update(enabled=False), lambda: ApiKey.objects.all().delete()],
    ids=["disabled", "deleted"],
)  # fmt: skip
def test_a_revoked_key_is_refused_by_the_next_request(
    ask: Ask, biz_type: BizType, revoke: Callable[[], object]
) -> None:
    job = {"biz_type": "order.close", "delay": 60}
    assert ask("POST", "/jobs", job).status_code == 201

    revoke()

    for method, path, body in [("POST", "/jobs", job), ("POST", "/jobs/bulk", {"jobs": [job]}), ("GET", "/jobs", None)]:
        problem(ask(method, path, body), 401)
    assert Job.objects.count() == 1
