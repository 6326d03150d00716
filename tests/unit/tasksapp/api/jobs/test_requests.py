"""What callers may send: known fields only, each described to OpenAPI as the rules judge it."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework import serializers

from tasksapp.api.http.json_decoder import MAX_BULK
from tasksapp.api.http.problems import Refused
from tasksapp.api.jobs.requests import (
    JOB_FIELDS,
    BulkRequestSerializer,
    ChangeJobRequestSerializer,
    JobRequestSerializer,
    job_request,
)


def refusal_of(fields: Any, *, key: str | None = None) -> list[tuple[str | None, str]]:
    """Field and code of each fault of a request for a job."""
    with pytest.raises(Refused) as found:
        job_request(fields, key=key)
    assert found.value.problem.status == 400
    return [(error.field, error.code) for error in found.value.problem.errors]


def test_a_request_has_the_fields_that_were_sent() -> None:
    request = job_request({"biz_type": "order.close", "delay": 60, "body": {"a": 1}}, traceparent="00-x")

    assert (request.biz_type, request.delay, request.body) == ("order.close", 60, {"a": 1})
    assert request.traceparent == "00-x"


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ([], [(None, "invalid")]),
        (None, [(None, "invalid")]),
        ({}, [("biz_type", "required")]),
        # misspelt, or not for callers
        ({"biz_type": "x", "colour": 1}, [("colour", "unknown")]),
        ({"biz_type": "x", "traceparent": "00"}, [("traceparent", "unknown")]),
        ({"status": "dead", "id": 7}, [("status", "unknown"), ("id", "unknown")]),
    ],
)
def test_what_is_no_request_is_refused_by_field(fields: Any, faults: list[tuple[str | None, str]]) -> None:
    assert refusal_of(fields) == faults


def test_no_refusal_is_longer_than_a_person_reads() -> None:
    faults = refusal_of({"x" * 5_000 + str(number): 1 for number in range(50)})

    assert len(faults) == 20
    assert {len(field or "") for field, _ in faults} == {100}


def test_the_idempotency_key_may_come_in_a_header_but_not_differently_in_the_body() -> None:
    assert job_request({"biz_type": "x"}, key="k").idempotency_key == "k"
    assert job_request({"biz_type": "x", "idempotency_key": "k"}, key="k").idempotency_key == "k"

    assert refusal_of({"biz_type": "x", "idempotency_key": "other"}, key="k") == [("idempotency_key", "conflict")]


def test_only_the_biz_type_is_required() -> None:
    fields = JobRequestSerializer().fields

    assert {name for name, field in fields.items() if field.required} == {"biz_type"}
    assert set(fields) == JOB_FIELDS
    assert all(field.help_text for field in fields.values())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("biz_id", serializers.CharField),
        ("due_at", serializers.DateTimeField),
        ("delay", serializers.FloatField),
        ("body", serializers.JSONField),
        ("priority", serializers.IntegerField),
        ("max_attempts", serializers.IntegerField),
    ],
)
def test_a_field_is_described_as_what_its_rule_takes(name: str, kind: type[Any]) -> None:
    assert type(JobRequestSerializer().fields[name]) is kind


def test_a_bulk_has_one_to_a_thousand_jobs_and_a_move_a_time() -> None:
    jobs: Any = BulkRequestSerializer().fields["jobs"]

    assert (jobs.min_length, jobs.max_length) == (1, MAX_BULK)
    changed = {"body", "priority", "max_attempts", "biz_id", "expires_at", "flow_key", "request"}
    changed |= {"body_text", "body_base64", "content_type"}
    assert set(ChangeJobRequestSerializer().fields) == {"version", "due_at", "delay", *changed}
