"""Exporting over REST: what the list would have, as a file; for keys with that scope only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tasksapp.access.keys import issue_key
from tasksapp.jobs.listing import JobList, TookTooLong
from tasksapp.models import AuditEntry, BizType, Status, Tenant
from tests.fixture_types import Ask, MakeBizType
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def exporting(ask_as: Callable[[str], Ask]) -> Ask:
    """Asks as a key that may export, and nothing else."""
    return ask_as(issue_key("warehouse", scopes=["jobs:export"]).key)


def biz_ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [json.loads(line)["biz_id"] for line in answer.getvalue().splitlines()]


def test_it_has_what_the_filter_names_and_is_recorded(exporting: Ask, make_biz_type: MakeBizType) -> None:
    closing, opening = make_biz_type("order.close"), make_biz_type("order.open")
    store_job(closing, Status.DEAD, biz_id="dead")
    store_job(closing, biz_id="pending")
    store_job(opening, Status.DEAD, biz_id="other")

    answer = exporting("GET", "/jobs/export?biz_type=order.close&status=dead&status=pending&order=-id")
    exported = biz_ids(answer)
    answer_of_all = exporting("GET", "/jobs/export")

    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert exported == ["pending", "dead"]
    assert set(biz_ids(answer_of_all)) == {"dead", "pending", "other"}
    first = AuditEntry.objects.order_by("id")[0]
    assert (first.actor, first.verb, first.biz_type_id) == ("api:warehouse", "export", closing.pk)
    assert first.after == {
        "format": "ndjson",
        "filter": {"biz_type": "order.close", "status": ["dead", "pending"], "order": "-id"},
        "rows": 2,
        "whole": True,
    }


def test_it_may_be_csv(exporting: Ask, biz_type: BizType) -> None:
    store_job(biz_type, biz_id="=1+1")

    answer = exporting("GET", "/jobs/export?format=csv")

    assert answer.headers["Content-Disposition"] == 'attachment; filename="jobs.csv"'
    assert b",'=1+1," in answer.getvalue()


@pytest.mark.parametrize("kind", ["ndjson", "csv"])
def test_biz_types_of_a_tenant_have_the_names_that_its_keys_know_them_by(
    ask_as: Callable[[str], Ask], kind: str
) -> None:
    acme = Tenant.objects.create(code="acme", name="Acme")
    store_job(BizType.objects.create(code="order.close", tenant=acme), biz_id="theirs")
    exporting = ask_as(issue_key("warehouse", scopes=["jobs:export"], tenant_id=acme.pk).key)

    text = exporting("GET", f"/jobs/export?biz_type=order.close&format={kind}").getvalue().decode()

    assert ("order.close" in text, "acme" in text) == (True, False)


def test_a_key_exports_what_it_sees_and_no_more(
    exporting: Ask, ask_as: Callable[[str], Ask], biz_type: BizType
) -> None:
    other = BizType.objects.create(code="order.close", tenant=Tenant.objects.create(code="t2", name="t2"))
    store_job(biz_type, biz_id="ours")
    store_job(other, biz_id="theirs")

    assert biz_ids(exporting("GET", "/jobs/export")) == ["ours"]
    assert biz_ids(exporting("GET", "/jobs/export?biz_type=order.close")) == ["ours"]
    assert exporting("GET", "/jobs").status_code == 403
    assert ask_as(issue_key("reader", scopes=["jobs:read"]).key)("GET", "/jobs/export").status_code == 403


@pytest.mark.parametrize("query", ["format=xlsx", "limit=5", "cursor=1", "body=x", "unknown=1", "status=gone"])
def test_what_an_export_cannot_be_asked_for_is_refused(exporting: Ask, query: str) -> None:
    answer = exporting("GET", f"/jobs/export?{query}")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]
    assert not AuditEntry.objects.exists()


def test_what_no_index_leads_to_in_time_is_refused(exporting: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: JobList, **_: Any) -> Any:
        raise TookTooLong

    monkeypatch.setattr(JobList, "page", never)

    assert exporting("GET", "/jobs/export").json()["errors"][0]["code"] == "took_too_long"
