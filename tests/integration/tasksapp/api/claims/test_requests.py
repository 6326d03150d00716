"""What cannot be asked of claims is refused by the name of the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasksapp.models import Job, Status
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.pulled_jobs import Pull, make_job

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "biz_types"),
        ({"biz_types": []}, "biz_types"),
        ({"biz_types": "report"}, "biz_types"),
        ({"biz_types": ["gone"]}, "biz_types"),
        ({"biz_types": [7]}, "biz_types"),
        ({"biz_types": ["report"], "max": 0}, "max"),
        ({"biz_types": ["report"], "max": True}, "max"),
        ({"biz_types": ["report"], "max": 101}, "max"),
        ({"biz_types": ["report"], "wait": 31}, "wait"),
        ({"biz_types": ["report"], "wait": 1.5}, "wait"),
        ({"biz_types": ["report"], "lease_seconds": 0.5}, "lease_seconds"),
        ({"biz_types": ["report"], "lease_seconds": 3601}, "lease_seconds"),
        ({"biz_types": ["report"], "lease_seconds": "60"}, "lease_seconds"),
        ({"biz_types": ["report"], "colour": 1}, "colour"),
    ],
)
def test_a_claim_that_cannot_be_is_refused_by_the_name_of_the_field(
    pull: Pull, ask: Ask, body: dict[str, Any], field: str
) -> None:
    make_job()

    answer = ask("POST", "/claims", body)

    assert answer.status_code == 400, answer.content
    assert json.loads(answer.content)["errors"][0]["field"] == field
    assert Job.objects.get().status == Status.PENDING


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("done", {"note": 7}, "note"),
        ("done", {"note": "a\0b"}, "note"),
        ("fail", {"reason": "x" * 401}, "reason"),
        ("fail", {"retry_in": -1}, "retry_in"),
        ("fail", {"retry_in": 604_801}, "retry_in"),
        ("fail", {"dead": 1}, "dead"),
        ("fail", {"dead": True, "retry_in": 5}, "retry_in"),
        ("release", {"note": ""}, "note"),
        ("extend", {"lease_seconds": 0}, "lease_seconds"),
    ],
)
def test_what_cannot_be_said_of_a_claim_is_refused_and_changes_nothing(
    pull: Pull, ask: Ask, verb: str, body: dict[str, Any], field: str
) -> None:
    make_job()
    (claim,) = pull()

    answer = ask("POST", f"/claims/{claim['token']}/{verb}", body)

    assert (answer.status_code, json.loads(answer.content)["errors"][0]["field"]) == (400, field)
    assert Job.objects.get().status == Status.RUNNING
