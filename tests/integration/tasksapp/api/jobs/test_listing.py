"""The list of jobs: pages that hold under inserts and deletes, filters, orders, bodies, and what a caller sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as limited
from hypothesis import strategies as st

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs import listing
from tasksapp.jobs.creation import create
from tasksapp.models import ApiKey, BizType, Job, Status, Tenant
from tasksapp.models.sealable import UNREADABLE
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import job_row, store_job
from tests.property_sizes import examples

pytestmark = pytest.mark.django_db(transaction=True)


def pages(ask: Ask, query: str, *, between: Any = lambda: None) -> list[str]:
    """The biz ids on all pages of a list, in order; ``between`` is called after each page."""
    found: list[str] = []
    address: str | None = f"/jobs?{query}"
    while address is not None:
        page = ask("GET", address).json()
        found += [job["biz_id"] for job in page["results"]]
        address = page["next"] and page["next"].partition("/api/v1")[2]
        between()
    return found


@pytest.mark.parametrize(("order", "status"), [("-id", ""), ("next_run_at", "pending"), ("-finished_at", "dead")])
@given(deeds=st.lists(st.tuples(st.sampled_from(["insert", "delete"]), st.integers(0, 11)), max_size=10))
@limited(
    max_examples=examples(6), deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_whoever_is_there_all_the_time_is_on_exactly_one_page(
    ask: Ask, biz_type: BizType, order: str, status: str, deeds: list[tuple[str, int]]
) -> None:
    """Whatever is inserted and deleted between two pages, and though several jobs have the same time."""
    Job.objects.all().delete()
    stands = Status(status or "pending")
    rows = [job_row(biz_type, stands, biz_id=str(n), due_in=timedelta(hours=1 + n // 3)) for n in range(12)]
    if stands is Status.DEAD:
        for row in rows:
            row.finished_at = timezone.now() - timedelta(hours=int(row.biz_id) // 3)
    Job.objects.bulk_create(rows)
    left, gone = iter(deeds), set()

    def meddle() -> None:
        for what, number in [deed for deed in (next(left, None), next(left, None)) if deed]:
            if what == "delete":
                gone.add(str(number))
                Job.objects.filter(biz_id=str(number)).delete()
            else:
                # Also among those that were shown already, and among those that come.
                hours = number // 3
                ended = timezone.now() - timedelta(hours=hours) if stands is Status.DEAD else None
                store_job(biz_type, stands, biz_id="new", due_in=timedelta(hours=hours), finished_at=ended)

    seen = pages(ask, f"limit=3&order={order}" + (f"&status={status}" if status else ""), between=meddle)

    kept = [biz_id for biz_id in seen if biz_id != "new"]
    assert len(kept) == len(set(kept))
    assert {str(number) for number in range(12)} - gone <= set(kept)


def test_orders_are_those_that_an_index_has(ask: Ask, biz_type: BizType) -> None:
    now = timezone.now()
    for hours in (3, 1, 2):
        store_job(biz_type, biz_id=f"p{hours}", due_in=timedelta(hours=hours))
        store_job(biz_type, Status.DEAD, biz_id=f"d{hours}", finished_at=now - timedelta(hours=hours))

    assert pages(ask, "order=next_run_at&status=pending&limit=1") == ["p1", "p2", "p3"]
    assert pages(ask, "order=-finished_at&status=dead&limit=2") == ["d1", "d2", "d3"]
    assert pages(ask, "order=finished_at&status=dead&status=cancelled&limit=2") == ["d3", "d2", "d1"]
    assert [job["biz_id"] for job in ask("GET", "/jobs/dead").json()["results"]] == ["d1", "d2", "d3"]
    assert [job["biz_id"] for job in ask("GET", "/jobs/dead?limit=1").json()["results"]] == ["d1"]


def test_filters_mean_what_they_say(ask: Ask, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    now = timezone.now()
    kept = store_job(
        biz_type, Status.DEAD, biz_id="order-42", error_class="http.503", operation_id=7, due_in=-timedelta(hours=2),
        finished_at=now - timedelta(hours=1), created_at=now,
    )  # fmt: skip
    store_job(make_biz_type("other"), biz_id="42", due_in=timedelta(hours=2), created_at=now)

    def at(hours: float) -> str:
        return quote((now + timedelta(hours=hours)).isoformat())

    for query in (
        "biz_type=order.close", "biz_id=order-42", "biz_id=order-*", "error_class=http.503", "operation=7",
        f"ids={kept.id}&ids={UUID(int=7)}", "status=dead&status=dropped", f"due_until={at(0)}", f"next_until={at(0)}",
        f"ended_from={at(-1.5)}&ended_until={at(0)}", f"due_from={at(-3)}&due_until={at(0)}",
        f"created_from={at(-0.1)}&created_until={at(0.1)}&status=dead",
    ):  # fmt: skip
        assert pages(ask, query) == ["order-42"], query
    for query in ("biz_type=none", f"created_from={at(1)}", f"created_until={at(-1)}", "biz_id=order", "operation=8"):
        assert pages(ask, query) == [], query
    assert pages(ask, "order=-id") == ["42", "order-42"]


def test_a_text_is_looked_for_in_the_bodies_of_one_biz_type(
    ask: Ask, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    for number in range(3):
        store_job(biz_type, biz_id=str(number), body=f'{{"sku": "A-{number}"}}')
    store_job(make_biz_type("other"), biz_id="other", body='"A-1"')

    answer = ask("GET", "/jobs?biz_type=order.close&status=pending&body=A-1").json()

    assert [job["biz_id"] for job in answer["results"]] == ["1"]
    assert (answer["looked_at"], answer["complete"], answer["next"]) == (3, True, None)
    assert answer["results"][0]["body"] == {"sku": "A-1"}


def test_encrypted_bodies_cannot_be_searched_and_are_counted_among_others(ask: Ask, biz_type: BizType) -> None:
    create("order.close", delay=60, biz_id="plain", body="A-1")
    BizType.objects.update(encrypted=True)
    biz_type_cache.clear()
    create("order.close", delay=60, biz_id="encrypted", body="A-1")
    query = "/jobs?biz_type=order.close&status=pending&body=A-1"

    refused = problem(ask("GET", query), 409)
    BizType.objects.update(encrypted=False)
    answer = ask("GET", query).json()

    assert (refused["code"], "order.close are encrypted" in refused["detail"]) == ("encrypted", True)
    assert [job["biz_id"] for job in answer["results"]] == ["plain"]
    assert (answer["looked_at"], answer["encrypted"]) == (2, 1)
    assert {job["biz_id"]: job["body"] for job in ask("GET", "/jobs").json()["results"]} == {
        "plain": "A-1",
        "encrypted": "A-1",
    }


def test_a_job_that_no_key_opens_is_listed_without_what_it_carries(ask: Ask, biz_type: BizType, settings: Any) -> None:
    BizType.objects.update(encrypted=True)
    job_id = create("order.close", delay=60, body="A-1", request={"timeout_seconds": 1}).job_id
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    (job,) = ask("GET", "/jobs").json()["results"]

    assert (job["body"], job["request"], job["last_error"]) == (None, None, UNREADABLE)
    assert ask("GET", f"/jobs/{job_id}").json()["last_error"] == UNREADABLE
    refused = problem(ask("PATCH", f"/jobs/{job_id}", {"request": {"timeout_seconds": 2}}), 409)
    assert refused["code"] == "secrets_unreadable"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        *(("status=nope", "status"), ("colour=red", "colour"), ("limit=0", "limit"), ("biz_id=%00", "biz_id")),
        *(("biz_type=", "biz_type"), ("biz_type=A", "biz_type"), ("operation=x", "operation"), ("ids=7", "ids")),
        *(("due_from=soon", "due_from"), ("created_from=2027-01-01T00:00:00", "created_from")),
        *(("biz_id=a&biz_id=b", "biz_id"), ("order=biz_id", "order"), (f"error_class={'x' * 41}", "error_class")),
        (f"flow_key={'x' * 101}", "flow_key"),
        # an order that no index has for these
        *(("order=next_run_at", "order"), ("order=-finished_at&status=pending", "order")),
        # bodies are looked for within bounds only
        *(("body=x", "body"), ("body=x&status=dead", "body"), ("body=x&biz_type=order.close", "body")),
        (f"body={'x' * 201}&biz_type=order.close&status=dead", "body"),
        # a cursor of another order, and none at all
        *(("cursor=x", "cursor"), (f"cursor={UUID(int=7)}&order=next_run_at&status=pending", "cursor")),
        ("cursor=2027-01-01T00:00:00Z~x&order=next_run_at&status=pending", "cursor"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(ask: Ask, biz_type: BizType, query: str, field: str) -> None:
    (error,) = problem(ask("GET", f"/jobs?{query}"), 400)["errors"]

    assert error["field"] == field


def test_the_list_of_dead_jobs_has_its_status_and_order(ask: Ask) -> None:
    for query in ("status=dead", "order=-id"):
        problem(ask("GET", f"/jobs/dead?{query}"), 400)


def test_a_list_that_no_index_serves_in_time_is_refused_with_advice(
    ask: Ask, biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: Any, **__: Any) -> Any:
        raise listing.TookTooLong

    monkeypatch.setattr(listing, "first_jobs", too_long)

    assert problem(ask("GET", "/jobs?biz_type=order.close"), 400)["code"] == "took_too_long"


def test_a_caller_sees_jobs_of_its_tenant_and_of_the_biz_types_of_its_key(
    ask: Ask, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    foreign = make_biz_type("foreign", tenant=Tenant.objects.create(code="acme"))
    hidden = make_biz_type("hidden")
    jobs = {kind.code: store_job(kind, biz_id=kind.code) for kind in (biz_type, hidden, foreign)}
    ApiKey.objects.update(biz_type_ids=[biz_type.id, foreign.id], version=2)

    assert pages(ask, "") == ["order.close"]
    for query in ("biz_type=hidden", "biz_type=foreign", f"ids={jobs['foreign'].id}", "biz_id=foreign*"):
        assert pages(ask, query) == [], query
    assert pages(ask, "order=next_run_at&status=pending") == ["order.close"]

    ApiKey.objects.update(biz_type_ids=[foreign.id], version=3)
    for query in ("", "status=pending&status=dead", "biz_type=order.close&status=pending&body=42"):
        assert pages(ask, query) == [], query
