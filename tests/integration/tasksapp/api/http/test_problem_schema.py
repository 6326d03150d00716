"""The API describes itself: every operation with every refusal, and what biz_type_requests says of requests."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

from tasksapp.api.jobs.requests import (
    BulkRequestSerializer,
    ChangeJobRequestSerializer,
    JobRequestSerializer,
    VersionRequestSerializer,
)
from tasksapp.models import BizType, Scope
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db


_read: list[Any] = []


@pytest.fixture
def schema(admin_client: Client) -> Any:
    """The schema as a client gets it: read once, since it is the same for all."""
    if not _read:
        _read.append(admin_client.get("/api/schema").json())
    return _read[0]


@cache
def definitions() -> Any:
    """The components of the schema, as they refer to each other in a schema that has nothing else."""
    return json.loads(json.dumps(_read[0]["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/"))


@cache
def validator(component: str) -> Draft202012Validator:
    """What judges values by a component of the schema."""
    whole = {"$ref": f"#/$defs/{component}", "$defs": definitions()}
    return Draft202012Validator(whole, format_checker=FormatChecker())


def faults(schema: Any, component: str, value: Any) -> list[str]:
    """What is wrong with a value, by a component of the schema."""
    assert component in schema["components"]["schemas"]
    return [fault.message for fault in validator(component).iter_errors(value)]


def send(ask: Ask, component: str, value: Any, *, job: str) -> Any:
    """The answer to a request of that kind."""
    match component:
        case "JobRequest":
            return ask("POST", "/jobs", value)
        case "BulkRequest":
            return ask("POST", "/jobs/bulk", value)
        case "ChangeJobRequest":
            return ask("PATCH", f"/jobs/{job}", value)
    return ask("POST", f"/jobs/{job}/cancel", value)


def operations(schema: Any) -> list[tuple[str, Any]]:
    """Every operation with its method."""
    return [(method, operation) for path in schema["paths"].values() for method, operation in path.items()]


def test_every_operation_names_the_refusals_of_all_callers(schema: Any) -> None:
    assert len(operations(schema)) >= 16
    for _, operation in operations(schema):
        assert {"400", "401", "429", "503"} <= set(operation["responses"])


def test_no_operation_names_a_refusal_that_cannot_come(schema: Any) -> None:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            named = set(operation["responses"])
            assert "406" not in named, "the answer is JSON whatever a client accepts"
            assert ("404" in named) == ("{" in path), "only what is named can be missing"
            assert ({"411", "413", "415"} <= named) == ("requestBody" in operation), (
                "only a body can be too large, or of another type"
            )
            assert ("409" in named) == (method != "get" and not path.endswith("/bulk")), (
                "a bulk has its conflicts inside"
            )


def test_every_kind_of_request_and_answer_has_an_example_that_it_allows(schema: Any) -> None:
    components = schema["components"]["schemas"]
    without = {name for name, component in components.items() if "examples" not in component}

    values = {name for name in without if "enum" in components[name]}
    assert {"Guarantee", "JobStatus", "Target", "OperationState", "HealthState"} <= values
    pages = {name for name in without if name.endswith("Page")}
    assert without - values - pages == {"Problem"}
    for name in components.keys() - without:
        assert faults(schema, name, components[name]["examples"][0]) == [], name


def test_every_example_of_a_refusal_is_a_problem_document_with_its_status(schema: Any) -> None:
    for _, operation in operations(schema):
        for status, response in operation["responses"].items():
            for content in response["content"].values() if status >= "400" else ():
                assert content["example"]["status"] == int(status)
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
                assert faults(schema, "Problem", content["example"]) == []


@pytest.mark.parametrize(
    ("component", "value"),
    [
        # there is no such field
        ("JobRequest", {"biz_type": "order.close", "colour": "red"}),
        ("BulkRequest", {"jobs": [{"biz_type": "order.close", "colour": "red"}]}),
        ("BulkRequest", {"jobs": [{"biz_type": "order.close"}], "colour": "red"}),
        ("ChangeJobRequest", {"delay": 5, "colour": "red"}),
        ("VersionRequest", {"version": 1, "delay": 5}),
        # two times, or none
        ("JobRequest", {"biz_type": "order.close", "delay": 5, "due_at": "2027-01-31T09:00:00Z"}),
        ("ChangeJobRequest", {"delay": 5, "due_at": "2027-01-31T09:00:00Z"}),
        ("ChangeJobRequest", {"version": 1}),
        ("ChangeJobRequest", {"delay": None, "due_at": None}),
        # out of bounds
        ("JobRequest", {"biz_type": "Order Close"}),
        ("JobRequest", {"biz_type": "order.close", "idempotency_key": ""}),
        ("JobRequest", {"biz_type": "order.close", "delay": 1e11}),
        ("VersionRequest", {"version": 2**31}),
    ],
)
def test_what_the_schema_refuses_the_api_refuses_too(
    schema: Any, ask: Ask, biz_type: BizType, component: str, value: Any
) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60}).json()["id"]

    assert faults(schema, component, value) != []
    answer = send(ask, component, value, job=job)
    if answer.status_code == 207:
        assert answer.json()["refused"] == 1
    else:
        problem(answer, 400)


@pytest.mark.parametrize(
    ("component", "value"),
    [
        ("JobRequest", {"biz_type": "order.close", "delay": 5, "due_at": None}),
        ("JobRequest", {"biz_type": "order.close", "delay": None, "due_at": "2027-01-31T09:00:00Z"}),
        ("JobRequest", {"biz_type": "order.close"}),
        ("ChangeJobRequest", {"delay": 5, "due_at": None}),
        ("ChangeJobRequest", {"due_at": "2027-01-31T09:00:00Z", "version": None}),
        ("VersionRequest", {}),
        # the examples
        ("JobRequest", JobRequestSerializer.example),
        ("BulkRequest", BulkRequestSerializer.example),
        ("ChangeJobRequest", ChangeJobRequestSerializer.example),
        ("VersionRequest", VersionRequestSerializer.example),
    ],
)
def test_what_the_schema_allows_the_api_takes_and_its_examples_first(
    schema: Any, ask: Ask, biz_type: BizType, component: str, value: Any
) -> None:
    job = ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60}).json()["id"]

    assert faults(schema, component, value) == []
    assert send(ask, component, value, job=job).status_code in {200, 201}


def test_callers_name_themselves_by_a_key_or_a_session_and_each_operation_names_its_scope(schema: Any) -> None:
    scheme = schema["components"]["securitySchemes"]["apiKey"]

    assert scheme["scheme"] == "bearer"
    assert set(scheme["x-scopes"]) == set(Scope.values)
    for _, operation in operations(schema):
        assert operation["security"] == [{"session": []}, {"apiKey": []}]
        if operation["operationId"] == "read_your_own_api_key":
            assert "Takes the scope" not in operation["description"]
        else:
            assert f"Takes the scope `{operation['x-required-scope']}`." in operation["description"]
    assert schema["paths"]["/v1/jobs/{id}/drop"]["post"]["x-required-scope"] == "jobs:act"
