"""Models from the JSON of answers."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delayhub.client import BizType, BulkResult, Job, Stats, UnexpectedAnswer
from delayhub.client.answer import decode
from delayhub.client.request import plain
from tests.client_models import biz_type_like, job_document, job_like


def test_a_job_comes_back_as_it_was() -> None:
    assert decode(Job, job_document()) == job_like()


def test_times_have_their_zone() -> None:
    found = decode(Job, job_document(due_at="2027-01-31T08:30:00.000001Z", finished_at="2027-01-31T10:00:00+01:00"))

    assert found.due_at == datetime(2027, 1, 31, 8, 30, 0, 1, tzinfo=UTC)
    assert found.finished_at is not None
    assert found.finished_at.utcoffset() == timedelta(hours=1)


def test_fields_and_values_of_a_newer_site_are_no_errors() -> None:
    assert decode(Job, job_document(colour="blue", status="resting")).status == "resting"


def test_fields_that_an_older_site_does_not_have_are_empty() -> None:
    numbers = dict.fromkeys(("pending", "due_now", "running", "dead", "done_per_minute"), 0)
    stats = decode(Stats, {"as_of": "2027-01-31T08:30:00Z", "bounded": False, "total": numbers, "biz_types": []})
    job, biz_type = job_document(), plain(asdict(biz_type_like()))
    later = {"token_fields", "ca_bundle", "ordered", "encrypted", "on_resolved", "masked_fields", "certificate_ends_at"}
    del job["place"]

    older = decode(BizType, {name: value for name, value in biz_type.items() if name not in later})

    assert (stats.quotas, stats.total.next_due_at) == ([], None)
    assert decode(Job, job).place is None
    assert {name: getattr(older, name) for name in later} == {
        "token_fields": None, "ca_bundle": "", "ordered": "no", "encrypted": False, "on_resolved": "",
        "masked_fields": [], "certificate_ends_at": None,
    }  # fmt: skip


def test_what_is_nested_is_decoded_too() -> None:
    error = {
        "type": "t",
        "title": "",
        "status": 400,
        "detail": "d",
        "errors": [{"field": None, "code": "c", "message": "m"}],
    }

    found = decode(BulkResult, {"error": error})

    assert found.id is None
    assert found.error is not None
    assert found.error.errors[0].message == "m"


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "1"},  # fields are missing
        job_document(due_at=None),
        job_document(due_at="soon"),
        [],
        "ok",
        None,
    ],
)
def test_another_answer_is_named_as_such(answer: Any) -> None:
    with pytest.raises(UnexpectedAnswer, match="the answer is no Job as this client knows it"):
        decode(Job, answer)
