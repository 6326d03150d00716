"""The rule of the claim stands twice, in SQL and in Python: of any rows both decide the same."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasksapp.models import UNTIL_RESUMED, BizType, Job, Series, Status, Tombstone
from tasksapp.sql import claim_jobs as statement
from tasksapp.sql.claim_jobs import Pulling, claim_jobs
from tests.property_sizes import examples

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
INSTANT, MINUTE = timedelta(microseconds=1), timedelta(minutes=1)
#: Moments around now, so that most rules are at their very edge.
moments = st.sampled_from([NOW - 2 * MINUTE, NOW - MINUTE - INSTANT, NOW - MINUTE, NOW - INSTANT, NOW, NOW + INSTANT])
spans = st.sampled_from([None, timedelta(0), MINUTE, MINUTE + INSTANT])

biz_types = st.fixed_dictionaries(
    {
        "enabled": st.sampled_from([True, True, True, False]),
        "paused_until": st.sampled_from([None, None, None, NOW, NOW + INSTANT, UNTIL_RESUMED]),
        "target": st.sampled_from(BizType.Target.values),
        "max_age": spans,
        "max_lateness": spans,
        "when_late": st.sampled_from(BizType.WhenLate.values),
        "guarantee": st.sampled_from(BizType.Guarantee.values),
        "on_dead": st.sampled_from(["", "", "other"]),
        "has_tombstones": st.booleans(),
    }
)
jobs = st.fixed_dictionaries(
    {
        "status": st.sampled_from([Status.PENDING] * 6 + [Status.RUNNING, Status.DEAD]),
        "due_at": moments,
        "next_run_at": moments,
        "expires_at": st.one_of(st.none(), moments),
        "redriven_at": st.one_of(st.none(), st.none(), moments),
        "lease_until": st.one_of(st.none(), st.none(), moments),
        "attempts": st.integers(0, 2),
        "attempt_base": st.integers(0, 1),
        "max_attempts": st.sampled_from([None, 3]),
        "biz_id": st.sampled_from(["", "resolved"]),
        "debounce_key": st.sampled_from(["", "key"]),
    }
).filter(lambda job: job["attempt_base"] <= job["attempts"])
#: When the job's series was to be looked at; None: it is of none.
looks = st.one_of(st.none(), st.sampled_from([NOW - MINUTE - INSTANT, NOW - MINUTE, NOW]))
calls = st.fixed_dictionaries(
    {
        "forward_seconds": st.sampled_from([0.0, 30.0]),
        "pulling": st.sampled_from([None, None, Pulling(token=7, lease_seconds=20.0)]),
    }
)


@given(st.lists(st.tuples(biz_types, jobs, looks, st.booleans()), min_size=1, max_size=6), calls)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_sql_and_python_decide_the_same_of_the_same_rows(
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[dict[str, Any], dict[str, Any], datetime | None, bool]],
    call: dict[str, Any],
) -> None:
    with transaction.atomic():
        ids = [stored(number, *row) for number, row in enumerate(rows)]
        monkeypatch.setattr(statement, "_tokens", SimpleNamespace(getrandbits=lambda _: 5))

        by_sql = outcome(ids, call)
        with monkeypatch.context() as patched:
            # What the claim asks is whether the database is PostgreSQL.
            patched.setattr(statement, "connections", {"default": SimpleNamespace(vendor="another")})
            by_python = outcome(ids, call)

        assert differences(by_sql, by_python) == []
        transaction.set_rollback(True)


def outcome(ids: list[UUID], call: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]], list[Any]]:
    """What the claim answers, the jobs afterwards, and the live job of each series; nothing of it stays."""
    with transaction.atomic():
        answer = claim_jobs(ids, now=NOW, lease_seconds=60, worker="w", using="default", **call)
        # A state of the biz type is known by other numbers in other databases.
        answer.claimed = [job._replace(biz_type_revision=0) for job in answer.claimed]
        answer.forwarded = [job._replace(biz_type_revision=0) for job in answer.forwarded]
        lists = {each.name: sorted(getattr(answer, each.name), key=repr) for each in fields(answer)[1:]}
        jobs = list(Job.objects.order_by("id").values())
        series = list(Series.objects.order_by("id").values_list("live_job", "waiting_job"))
        transaction.set_rollback(True)
    return lists, jobs, series


def differences(one: Any, other: Any) -> list[Any]:
    """What is not the same, from the innermost values."""
    if isinstance(one, dict):
        return [(name, each) for name in one for each in differences(one[name], other[name])]
    if isinstance(one, list | tuple) and len(one) == len(other):
        return [(place, each) for place, pair in enumerate(zip(one, other, strict=True)) for each in differences(*pair)]
    return [] if one == other else [(one, other)]


def stored(number: int, of_type: dict[str, Any], of_job: dict[str, Any], look: datetime | None, by_hand: bool) -> UUID:
    """The id of a job of a biz type of its own."""
    biz_type = BizType.objects.create(
        code=f"type-{number}", url="https://example.com/", task_name="shop.pay", **of_type
    )
    of_series: dict[str, Any] = {}
    if look is not None:
        series = Series.objects.create(biz_type=biz_type, name="a", make_at=look, created_at=NOW, updated_at=NOW)
        of_series = {"series": series, "occurrence_at": None if by_hand else NOW}
    if of_type["has_tombstones"]:
        Tombstone.objects.create(biz_type=biz_type, biz_id="resolved", at=NOW, until=NOW + MINUTE)
    times = {"created_at": NOW - 3 * MINUTE, "updated_at": NOW - 3 * MINUTE}
    return Job.objects.create(biz_type=biz_type, body="{}", **times, **of_job, **of_series).id
