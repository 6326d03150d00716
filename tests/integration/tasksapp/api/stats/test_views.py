"""Numbers over REST: counts, series, forecasts, issues and health, each of what the key may see; their parameters.

They are shown as ``representation`` says.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import ApiKey, BizType, DeadCount, JobCount, Pulse, Tenant
from tasksapp.sql.count_of_tenants import count_of_tenants
from tasksapp.stats.pulses import floor
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def counted(make_biz_type: MakeBizType) -> list[BizType]:
    """Two biz types of the caller's tenant and one of another, with jobs, attempts and issues."""
    other = Tenant.objects.create(code="other")
    rows = [make_biz_type("a"), make_biz_type("b"), make_biz_type("c", tenant=other)]
    now = timezone.now()
    for number, biz_type in enumerate(rows, start=1):
        JobCount.objects.create(
            biz_type=biz_type, counted_at=now, pending=number, due_now=number, running=0, dead=number
        )
        DeadCount.objects.create(
            biz_type=biz_type, error_class="http.503", dead=number, counted_at=now, first_at=now, last_at=now
        )
        at = floor(now, 60) - timedelta(minutes=1)
        Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=60, kind="succeeded", count=10**number)
    return rows


def test_counts_are_of_what_the_key_sees(ask_fully: Ask, counted: list[BizType]) -> None:
    found = ask_fully("GET", "/stats").json()
    ApiKey.objects.update(biz_type_ids=[counted[1].pk])
    limited = ask_fully("GET", "/stats").json()

    assert [each["biz_type"] for each in found["biz_types"]] == ["a", "b"]
    assert (found["total"]["pending"], found["total"]["dead"], found["bounded"]) == (3, 3, False)
    assert found["total"]["done_per_minute"] > 10
    assert (limited["total"]["pending"], [each["biz_type"] for each in limited["biz_types"]]) == (2, ["b"])


def test_counts_come_with_the_quotas_of_the_tenant(ask_fully: Ask, counted: list[BizType]) -> None:
    before = ask_fully("GET", "/stats").json()["quotas"]
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)
    after = {each["quota"]: each for each in ask_fully("GET", "/stats").json()["quotas"]}

    assert {(each["used"], each["as_of"]) for each in before} == {(None, None)}
    assert [after[name]["used"] for name in ("pending_jobs", "biz_types", "series")] == [3, 2, 0]
    assert after["pending_jobs"]["limit"] == 10_000_000


def test_a_series_adds_up_what_the_key_sees(ask_fully: Ask, counted: list[BizType]) -> None:
    both = ask_fully("GET", "/stats/series").json()
    one = ask_fully("GET", "/stats/series?biz_type=b&step_seconds=120").json()

    assert sum(point["succeeded"] for point in both["points"]) == 110
    assert sum(point["succeeded"] for point in one["points"]) == 100
    assert len(both["points"]) in {60, 61}


def test_issues_are_those_of_the_biz_types_that_the_key_sees(ask_fully: Ask, counted: list[BizType]) -> None:
    found = ask_fully("GET", "/issues").json()["issues"]

    assert {(each["biz_type"], each["error_class"], each["description"], each["dead"]) for each in found} == {
        ("a", "http.503", "HTTP 503", 1),
        ("b", "http.503", "HTTP 503", 2),
    }
    assert len(ask_fully("GET", "/issues?biz_type=b").json()["issues"]) == 1


def test_health_says_whether_jobs_are_delivered_in_english_and_without_addresses(
    ask_fully: Ask, settings: Any, redis_client: object
) -> None:
    settings.LANGUAGE_CODE = "zh-hans"

    found = ask_fully("GET", "/health")

    assert found.json()["state"] == "no worker"
    assert found.json()["is_ok"] is False
    assert found.json()["sentence"].startswith("no job is delivered")
    assert b"127.0.0.1" not in found.content


@pytest.mark.parametrize(
    "address",
    [
        "/stats?biz_type=c",
        "/stats?colour=red",
        "/stats?biz_type=a&biz_type=b",
        "/stats/series?step_seconds=61",
        "/stats/series?step_seconds=0",
        "/stats/series?since=yesterday",
        "/stats/series?since=2030-01-01T00:00:00Z",
        "/stats/series?since=0001-01-01T00:00:00%2B14:00",
        "/stats/series?until=0001-01-01T00:00:00Z",
        "/stats/series?since=2026-01-01T00:00:00Z&until=2026-12-01T00:00:00Z",
        "/issues?biz_type=%00",
        "/health?verbose=1",
        "/audit?job_id=5",
        "/audit?operation_id=99999999999999999999",
        "/audit?biz_type=c",
        "/audit?limit=0",
    ],
)
def test_what_cannot_be_asked_is_refused(ask_fully: Ask, counted: list[BizType], address: str) -> None:
    problem(ask_fully("GET", address), 400)


def test_numbers_take_a_scope_of_their_own(ask: Ask, counted: list[BizType]) -> None:
    for address in ("/stats", "/stats/series", "/issues", "/health", "/audit"):
        assert problem(ask("GET", address), 403)["scope"] == "stats"
    ApiKey.objects.update(scopes=["stats"])
    assert ask("GET", "/stats").status_code == 200
