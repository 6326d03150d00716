"""A job as callers see it, whether it was read from the database or created just now."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tasksapp.api.jobs.representation import NAMES, CreatedJobSerializer, JobSerializer, created_text, job_json
from tasksapp.jobs.exact_bytes import Shown
from tasksapp.jobs.writing import Batch, Created
from tasksapp.models import BizType, Job, NewJob, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROW = NewJob(UUID(int=7), 3, NOW + timedelta(minutes=5), 2, biz_id="42", body='{"order":[1,"ä"]}', max_attempts=3)


BIZ_TYPE = BizType(pk=3, code="order.close")


def job_of(row: NewJob) -> Job:
    job = Job.of(row, now=NOW)
    job.biz_type = BIZ_TYPE
    return job


def created(row: NewJob | None = ROW, *, armed: bool | None = True) -> Created:
    batch = Batch(NOW, "default", armed)
    return Created(job_id=ROW.id, created=True, replaced=False, was_past=False, batch=batch, biz_type=BIZ_TYPE, row=row)


def test_it_shows_the_row_with_its_body_as_json() -> None:
    shown = job_json(job_of(ROW))

    assert (shown["id"], shown["biz_type"], shown["biz_id"]) == (str(ROW.id), "order.close", "42")
    assert (shown["status"], shown["body"]) == ("pending", {"order": [1, "ä"]})
    assert (shown["due_at"], shown["created_at"]) == ("2026-01-01T00:05:00Z", "2026-01-01T00:00:00Z")
    assert (shown["max_attempts"], shown["finished_at"]) == (3, None)


def test_leases_and_workers_are_not_shown() -> None:
    hidden = {"lease_until", "lease_token", "worker", "attempt_base", "traceparent", "biz_type_id"}

    assert hidden.isdisjoint(job_json(job_of(ROW)))


@pytest.mark.parametrize("status", list(Status))
def test_it_is_json_in_every_status_and_has_the_fields_that_are_described(status: Status) -> None:
    job = job_of(ROW)
    job.status = status

    shown = json.loads(json.dumps(job_json(job)))

    described = JobSerializer(data=shown)
    assert list(shown) == list(described.fields)
    assert described.is_valid(), described.errors


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        NewJob(ROW.id, 3, NOW, 5),  # nothing but what it must have
        ROW._replace(
            biz_id='"50 %" \\ ä\n', debounce_key="{0}%s", body="null"
        ),  # what the text must not take as its own
    ],
)
def test_a_job_made_just_now_looks_as_it_will_when_it_is_read(row: NewJob) -> None:
    shown = json.loads(created_text(created(row)))

    read = {name: shown[name] for name in shown if name in (*NAMES, *Shown._fields, "biz_type")}
    assert list(read.items()) == list(job_json(job_of(row)).items())


def test_its_body_is_shown_as_it_was_written() -> None:
    row = ROW._replace(body='{"price": 1e2, "note": "100 %s"}', biz_id='","body":null', flow_key='"body":null')

    text = created_text(created(row))

    assert '"body":{"price": 1e2, "note": "100 %s"},' in text
    assert json.loads(text)["biz_id"] == '","body":null'


def test_it_says_what_became_of_the_request() -> None:
    shown: dict[str, Any] = json.loads(created_text(created(armed=None)))

    assert {name: shown[name] for name in ("created", "replaced", "armed", "past_due")} == {
        "created": True,
        "replaced": False,
        "armed": None,
        "past_due": False,
    }
    described = CreatedJobSerializer(data=shown)
    assert set(shown) == set(described.fields)
    assert described.is_valid(), described.errors


def test_a_job_of_an_earlier_request_is_shown_as_it_is_now() -> None:
    earlier = created(row=None)
    earlier.job = Job.of(ROW, now=NOW)
    earlier.job.status = Status.DEAD

    assert json.loads(created_text(earlier))["status"] == "dead"
