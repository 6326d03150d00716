"""What the database knows of jobs, as Prometheus gets it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.metrics.job_numbers import DURATION_ENDS, LATENESS_ENDS, MOST_CLASSES, buckets, job_numbers
from tasksapp.models import BizType, JobCount, Status, Tenant
from tasksapp.sql.count_of_tenants import count_of_tenants
from tasksapp.sql.pulses import PulseKey, add_pulses
from tasksapp.stats.histogram import bucket_of
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.metrics.samples import samples, stored_series
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def count(biz_type: BizType, kind: str, key: str, number: int) -> None:
    add_pulses({PulseKey(AT, biz_type.id, kind, key): number}, using="default")


def counted(biz_type: BizType, **fields: Any) -> None:
    numbers = {"pending": 0, "due_now": 0, "running": 0, "dead": 0, "counted_at": timezone.now(), **fields}
    JobCount.objects.create(biz_type=biz_type, **numbers)


def test_jobs_are_as_the_loader_counted_them(biz_type: BizType) -> None:
    late = timezone.now() - timedelta(seconds=90)
    counted(biz_type, pending=1_000_000, due_now=7, running=3, dead=2, oldest_due_at=late)

    found = samples(job_numbers(stored_series(), using="default"))

    ours = ("default", "order.close")
    assert [found["delayhub_jobs", *ours, status] for status in ("pending", "running", "dead")] == [1_000_000, 3, 2]
    assert found["delayhub_jobs_due", *ours] == 7
    assert 90 <= found["delayhub_job_overdue_seconds", *ours] < 100
    assert found["delayhub_counts_bound",] == 0
    assert 0 <= found["delayhub_counts_age_seconds",] < 10


def test_without_a_loader_they_are_counted_here_and_it_is_said(biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD)

    found = samples(job_numbers(stored_series(), using="default"))

    assert found["delayhub_jobs", "default", "order.close", "dead"] == 1
    assert found["delayhub_counts_bound",] > 0


def test_counters_are_the_totals_of_the_pulses(biz_type: BizType) -> None:
    for kind, key, number in [
        ("created", "", 9),
        ("succeeded", "", 5),
        ("failed", "http.503", 2),
        ("failed", "timeout", 1),
        ("dead", "timeout", 1),
        ("busy", "", 4_500),
        ("lateness", str(bucket_of(10)), 6),
        ("lateness", str(bucket_of(3_000_000_000)), 2),
        ("duration", str(bucket_of(500)), 8),
    ]:
        count(biz_type, kind, key, number)

    found = samples(job_numbers(stored_series(), using="default"))

    ours = ("default", "order.close")
    assert found["delayhub_jobs_created_total", *ours] == 9
    assert found["delayhub_attempts_total", *ours, "succeeded"] == 5
    assert found["delayhub_attempts_total", *ours, "failed"] == 3
    assert found["delayhub_attempt_failures_total", "http.503"] == 2
    assert found["delayhub_jobs_died_total", *ours] == 1
    assert found["delayhub_attempt_duration_seconds_sum", *ours] == 4.5
    assert found["delayhub_attempt_duration_seconds_bucket", *ours, "0.512"] == 8
    assert found["delayhub_attempt_duration_seconds_bucket", *ours, "0.256"] == 0
    assert found["delayhub_attempt_lateness_seconds_bucket", *ours, "0.008"] == 0
    assert found["delayhub_attempt_lateness_seconds_bucket", *ours, "0.016"] == 6
    assert found["delayhub_attempt_lateness_seconds_bucket", *ours, "67108.864"] == 6
    assert found["delayhub_attempt_lateness_seconds_bucket", *ours, "+Inf"] == 8
    assert found["delayhub_attempt_lateness_seconds_count", *ours] == 8


def test_a_biz_type_without_jobs_has_all_its_series_at_zero(biz_type: BizType) -> None:
    found = samples(job_numbers(stored_series(), using="default"))

    ours = {name[0] for name, value in found.items() if name[1:3] == ("default", "order.close") and value == 0}
    assert {
        "delayhub_jobs",
        "delayhub_jobs_created_total",
        "delayhub_attempts_total",
        "delayhub_jobs_died_total",
    } <= ours


def test_what_is_beyond_the_limit_is_added_up_and_overdue_is_the_longest(
    make_biz_type: MakeBizType, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "METRICS_BIZ_TYPES": 1}
    now = timezone.now()
    for number in range(3):
        biz_type = make_biz_type(f"order.{number}")
        counted(biz_type, dead=10**number, oldest_due_at=now - timedelta(seconds=100 * number))
        count(biz_type, "dead", "timeout", 10**number)

    found = samples(job_numbers(stored_series(), using="default"))

    others = ("(other)", "(other)")
    assert found["delayhub_jobs", "default", "order.0", "dead"] == 1
    assert found["delayhub_jobs", *others, "dead"] == 110
    assert found["delayhub_jobs_died_total", "default", "order.0"] == 1
    assert found["delayhub_jobs_died_total", *others] == 110
    assert 200 <= found["delayhub_job_overdue_seconds", *others] < 210


def test_kinds_of_failure_are_bounded_and_none_is_lost(biz_type: BizType) -> None:
    for number in range(MOST_CLASSES + 5):
        count(biz_type, "failed", f"task.Error{number}", number + 1)

    found = samples(job_numbers(stored_series(), using="default"))

    classes = {key[1]: value for key, value in found.items() if key[0] == "delayhub_attempt_failures_total"}
    assert len(classes) == MOST_CLASSES + 1
    assert classes["(other)"] == 1 + 2 + 3 + 4 + 5


def test_a_tenant_has_a_series_for_each_quota(biz_type: BizType) -> None:
    Tenant.objects.update(most_biz_types=4)
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)

    found = samples(job_numbers(stored_series(), using="default"))

    assert found["delayhub_quota_used_ratio", "default", "biz_types"] == 0.25
    assert found["delayhub_quota_used_ratio", "default", "pending_jobs"] == 0


def test_who_may_have_none_and_has_none_alerts_nobody(biz_type: BizType) -> None:
    Tenant.objects.update(most_series=0, most_biz_types=0)
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)

    found = samples(job_numbers(stored_series(), using="default"))

    assert found["delayhub_quota_used_ratio", "default", "series"] == 0
    assert found["delayhub_quota_used_ratio", "default", "biz_types"] == 1


def test_a_tenant_whose_biz_types_are_added_up_is_seen_where_it_fills_up(
    biz_type: BizType, make_biz_type: MakeBizType, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "METRICS_BIZ_TYPES": 1}
    make_biz_type("a", tenant=Tenant.objects.create(code="acme", most_biz_types=2, most_series=2))
    count_of_tenants(now=timezone.now(), using="default", timeout_seconds=30)

    found = samples(job_numbers(stored_series(), using="default"))

    assert found["delayhub_quota_used_ratio", "acme", "biz_types"] == 0.5
    assert ("delayhub_quota_used_ratio", "acme", "series") not in found


@pytest.mark.parametrize("ends", [LATENESS_ENDS, DURATION_ENDS])
def test_each_time_is_in_the_first_bucket_that_ends_after_it(ends: tuple[int, ...]) -> None:
    for end in ends:
        just_below, at_the_end = 2**end - 0.01, float(2**end)

        below = dict(buckets({bucket_of(just_below): 1}, ends))
        beyond = dict(buckets({bucket_of(at_the_end): 1}, ends))

        assert (below[str(2**end / 1000)], beyond[str(2**end / 1000)]) == (1, 0)


def test_four_queries_are_enough(make_biz_type: MakeBizType, settings: Any, django_assert_max_num_queries: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "METRICS_BIZ_TYPES": 2}
    for number in range(4):
        make_biz_type(f"order.{number}")

    with django_assert_max_num_queries(5):
        list(job_numbers(stored_series(), using="default"))
