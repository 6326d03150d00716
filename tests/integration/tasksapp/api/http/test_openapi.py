"""The API describes itself: every operation with every refusal."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def schema(admin_client: Client) -> Any:
    """The schema as a client gets it."""
    return admin_client.get("/api/schema").json()


def operations(schema: Any) -> list[tuple[str, Any]]:
    """Every operation with its method."""
    return [(method, operation) for path in schema["paths"].values() for method, operation in path.items()]


def test_every_operation_names_the_refusals_of_all_callers(schema: Any) -> None:
    assert len(operations(schema)) >= 16
    for _, operation in operations(schema):
        assert {"400", "401", "404", "406"} <= set(operation["responses"])


def test_an_operation_that_changes_something_names_what_may_stand_against_it(schema: Any) -> None:
    for method, operation in operations(schema):
        writes = {"409", "413", "415", "429"} <= set(operation["responses"])
        assert writes == (method != "get"), operation["operationId"]


def test_a_refusal_is_a_problem_document(schema: Any) -> None:
    for _, operation in operations(schema):
        document = operation["responses"]["401"]["content"]["application/problem+json"]["schema"]
        assert document["required"] == ["type", "title", "status", "detail", "errors"]


def test_callers_name_themselves_by_a_bearer_key(schema: Any) -> None:
    assert schema["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    assert all(operation["security"] == [{"apiKey": []}] for _, operation in operations(schema))
