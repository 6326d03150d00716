"""One job is followed by its id in the log: from its creation over its attempts and its death to its redrive."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from tasksapp.access.keys import issue_key
from tasksapp.models.api_key import Scope
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering, no_content

pytestmark = pytest.mark.django_db(transaction=True)

TRACE = "c" * 32


@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_a_job_is_followed_by_its_id(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, client: Client, caplog: pytest.LogCaptureFixture,
    level: str,
) -> None:  # fmt: skip
    caplog.set_level(level, logger="delayhub.jobs")
    make_biz_type("order.close", url=receiver.url("/"), backoff_min_seconds=0, jitter=0, max_attempts=2)
    headers = {
        "Authorization": f"Bearer {issue_key('shop', scopes=list(Scope)).key}",
        "traceparent": f"00-{TRACE}-{'b' * 16}-01",
    }
    receiver.answer = answering(503)
    body = {"biz_type": "order.close", "biz_id": "order-42", "body": {"card": "4111-hush"}}

    made = client.post("/api/v1/jobs", body, content_type="application/json", headers=headers).json()
    fire()
    fire()
    receiver.answer = no_content
    client.post(f"/api/v1/jobs/{made['id']}/redrive", {}, content_type="application/json", headers=headers)
    fire()

    records = [record for record in caplog.records if made["id"] in record.getMessage()]
    told = [(vars(record)["job_event"], record.levelno, vars(record)["attempt"]) for record in records]
    expected = [
        ("created", logging.DEBUG, 0),
        ("claimed", logging.DEBUG, 1),
        ("failed", logging.WARNING, 1),
        ("claimed", logging.DEBUG, 2),
        ("died", logging.ERROR, 2),
        ("redrive", logging.INFO, 0),
        ("claimed", logging.DEBUG, 3),
        ("succeeded", logging.DEBUG, 3),
    ]
    assert told == [line for line in expected if line[1] >= logging.getLevelName(level)]
    assert {vars(record)["trace_id"] for record in records} == {TRACE}
    assert "hush" not in caplog.text
