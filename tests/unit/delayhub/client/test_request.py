"""Requests before they are sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from delayhub.client.request import Request, chunks, given, new_job_fields, next_query, parameters, path_of
from delayhub.errors import OptionError

ID = UUID("01a1fcb9-e182-7773-bac4-bf777e5e56f2")


@pytest.mark.parametrize(
    ("job", "path"),
    [
        (ID, f"/jobs/{ID}"),
        (str(ID), f"/jobs/{ID}"),
        (("order.close", "order-42"), "/biz-types/order.close/jobs/order-42"),
        (("order.close", "a/b?c#d é"), "/biz-types/order.close/jobs/a%2Fb%3Fc%23d%20%C3%A9"),
        (("order.close", ".."), "/biz-types/order.close/jobs/%2E%2E"),  # no step upwards
    ],
)
def test_a_job_is_named_by_its_id_or_its_business_key(job: str | UUID | tuple[str, str], path: str) -> None:
    assert path_of(job) == path


@pytest.mark.parametrize("job", ["", ("order.close", ""), ("", "order-42")])
def test_an_empty_name_is_no_job(job: str | tuple[str, str]) -> None:
    with pytest.raises(OptionError):
        path_of(job)


def test_times_and_durations_are_sent_as_the_api_takes_them() -> None:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)

    assert given(due_at=at, delay=timedelta(minutes=1), version=None) == {"due_at": at.isoformat(), "delay": 60.0}
    assert parameters(status=["dead", "pending"], due_from=at, armed=True, biz_id=None) == [
        ("status", "dead"),
        ("status", "pending"),
        ("due_from", "2027-01-31T08:30:00+00:00"),
        ("armed", "true"),
    ]


def test_a_job_gets_an_idempotency_key_unless_it_has_one() -> None:
    keys = {new_job_fields({"biz_type": "order.close"})["idempotency_key"] for _ in range(3)}

    assert len(keys) == 3
    assert new_job_fields({"biz_type": "order.close", "idempotency_key": "mine"})["idempotency_key"] == "mine"


@pytest.mark.parametrize("body", [float("nan"), {"at": datetime(2027, 1, 1, tzinfo=UTC)}, {1, 2}])
def test_a_body_that_is_no_json_is_refused_before_it_is_sent(body: object) -> None:
    request = Request("POST", "/jobs", body=new_job_fields({"biz_type": "order.close", "body": body}))

    with pytest.raises(OptionError, match="POST /jobs cannot be sent as JSON"):
        assert request.content


def test_a_bulk_is_parted_by_the_number_of_its_jobs_and_by_their_bytes() -> None:
    small = [{"biz_id": str(number)} for number in range(2_001)]
    large = [{"body": "x" * 3_000_000}, {"body": "ü" * 1_500_000}, {"body": ""}]

    assert [len(part) for part in chunks(small)] == [1_000, 1_000, 1]
    assert [len(part) for part in chunks(large)] == [1, 2]
    assert [job for part in chunks(small) for job in part] == small


def test_of_the_next_page_only_the_parameters_count() -> None:
    assert next_query("http://another.example/api/v1/jobs?status=dead&cursor=a%2Bb&biz_id=") == [
        ("status", "dead"),
        ("cursor", "a+b"),
        ("biz_id", ""),
    ]
    assert next_query(None) is None
