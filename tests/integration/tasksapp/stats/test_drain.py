"""Forecasts: when the jobs that wait are done, and which peaks lie ahead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.models import UNTIL_RESUMED, BizType, JobCount, Pulse, Upcoming
from tasksapp.stats.capacity import Limit
from tasksapp.stats.drain import ahead, forecast
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def limited(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("order.remind", delivery_rate=500.0, delivery_burst=500)


def waiting(biz_type: BizType, due_now: int, *, running: int = 0, oldest: timedelta = timedelta()) -> None:
    JobCount.objects.create(
        biz_type=biz_type,
        pending=due_now,
        due_now=due_now,
        running=running,
        dead=0,
        oldest_due_at=NOW - oldest if due_now else None,
        counted_at=NOW,
    )


def attempts(biz_type: BizType, *, succeeded: int, failed: int = 0, busy_ms: int = 0) -> None:
    for kind, count in (("succeeded", succeeded), ("failed", failed), ("busy", busy_ms)):
        Pulse.objects.create(biz_type=biz_type, at=NOW, span_seconds=60, kind=kind, key="", count=count)


def due_at(biz_type: BizType, at: datetime, jobs: int) -> None:
    Upcoming.objects.create(
        biz_type=biz_type, at=at, span_seconds=300, jobs=jobs, first_at=at, last_at=at, counted_at=NOW
    )


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_backlog_behind_a_rate_is_promised_within_five_percent(
    limited: BizType, django_assert_max_num_queries: Any
) -> None:
    waiting(limited, 19_000, running=1_000, oldest=timedelta(seconds=41))
    attempts(limited, succeeded=1_000)

    with django_assert_max_num_queries(4):
        drain = forecast(limited)

    assert (drain.empty_at, drain.earliest, drain.latest) == (after(40), after(38), after(42))
    assert (drain.capacity_per_second, drain.limited_by, drain.peak_lateness_seconds) == (500, Limit.RATE, 81)
    assert drain.sentence == "19,000 jobs are due; done at 12:00:40 (limit 500/s)"


def test_where_attempts_fail_only_an_interval_is_said(limited: BizType) -> None:
    waiting(limited, 20_000)
    attempts(limited, succeeded=800, failed=200)

    drain = forecast(limited)

    assert drain.earliest is not None
    assert drain.latest is not None
    assert drain.earliest < after(40) < after(50) <= drain.latest
    assert "done between" in drain.sentence


@pytest.mark.parametrize(
    "fields",
    [
        # a burst that a busy machine does not use up in time
        {"delivery_burst": 1},
        # what only the workers limit
        {"delivery_rate": None},
    ],
)
def test_where_the_pace_is_not_steady_only_an_interval_is_said(limited: BizType, fields: Any) -> None:
    waiting(limited, 20_000)
    attempts(limited, succeeded=1_000)
    BizType.objects.update(**fields)
    limited.refresh_from_db()

    assert "done between" in forecast(limited).sentence


def test_jobs_that_come_meanwhile_count(limited: BizType) -> None:
    waiting(limited, 20_000)
    due_at(limited, after(30), 5_000)

    assert forecast(limited).empty_at == after(50)


def test_other_limits_can_be_tried(limited: BizType) -> None:
    waiting(limited, 20_000)
    attempts(limited, succeeded=100, busy_ms=17_000)

    assert forecast(limited, delivery_rate=1_000).empty_at == after(20)
    slots = forecast(limited, delivery_rate=None, max_in_flight=20)
    assert (slots.limited_by, slots.capacity_per_second) == (Limit.SLOTS, pytest.approx(100))
    assert limited.delivery_rate == 500


def test_where_nothing_waits_there_is_nothing_to_wait_for(limited: BizType) -> None:
    waiting(limited, 0)

    assert forecast(limited)[:4] == (NOW, NOW, NOW, 0.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"paused_until": UNTIL_RESUMED}, "20,000 jobs wait until the biz type is resumed"),
        ({"enabled": False}, "20,000 jobs wait until the biz type is enabled"),
    ],
)
def test_what_is_shut_is_not_done_until_a_person_opens_it(limited: BizType, fields: Any, words: str) -> None:
    waiting(limited, 20_000)
    BizType.objects.update(**fields)
    limited.refresh_from_db()

    drain = forecast(limited)

    assert (drain.empty_at, drain.latest, drain.sentence) == (None, None, words)


def test_after_a_pause_the_rate_rises(limited: BizType) -> None:
    waiting(limited, 20_000)
    limited.paused_until = after(60)

    # 100 + 200 + 400 + 800 jobs in the eight seconds of the ramp, then 500 a second
    assert forecast(limited).empty_at == after(60 + 8 + 18_500 / 500)


def test_what_is_not_done_within_a_day_has_no_end(limited: BizType) -> None:
    waiting(limited, 50_000_000)

    drain = forecast(limited)

    assert (drain.empty_at, drain.latest) == (None, None)
    assert "will not be done within a day" in drain.sentence


def test_a_peak_above_the_limit_is_foretold(limited: BizType, biz_type: BizType) -> None:
    midnight = NOW + timedelta(hours=12)
    due_at(limited, midnight, 200_000)
    due_at(limited, midnight + timedelta(hours=1), 400)
    due_at(biz_type, midnight, 10)

    (peak,) = ahead()

    assert (peak.biz_type, peak.at, peak.jobs) == (limited, midnight, 200_000)
    assert (peak.done_at, peak.late_seconds) == (midnight + timedelta(seconds=400), 400)
    assert peak.sentence == (
        "200,000 at 2026-01-06 00:00:00 order.remind; limit 500/s: done 2026-01-06 00:06:40, 6 min 40 s late"
    )
    assert ahead(biz_type_id=biz_type.id) == []


def test_a_paused_biz_type_has_no_peaks(limited: BizType) -> None:
    due_at(limited, after(600), 200_000)
    BizType.objects.update(paused_until=UNTIL_RESUMED)

    assert ahead() == []


@pytest.mark.parametrize(
    ("limits", "latest", "said"),
    [
        ({"key_rate": 100.0}, 200, "done between 12:00:38 (limit 500/s) and 12:03:20 (if all had one flow key"),
        ({"key_max_in_flight": 8}, 20_000 * 0.05 / 8, "12:02:05 (if all had one flow key"),
        ({"key_rate": 0.1}, None, "done at 12:00:38 at the soonest (limit 500/s), and later the fewer flow keys"),
        # a key may have all that the biz type may
        ({"key_rate": 500.0}, 42, "done at 12:00:40 (limit 500/s)"),
    ],
)
def test_where_flow_keys_have_limits_the_end_is_an_interval(
    limited: BizType, limits: Any, latest: float | None, said: str
) -> None:
    waiting(limited, 20_000)
    attempts(limited, succeeded=1_000, busy_ms=20_000)
    BizType.objects.update(**limits)
    limited.refresh_from_db()

    drain = forecast(limited)

    assert drain.earliest == after(38)
    assert drain.latest == (None if latest is None else after(latest))
    assert said in drain.sentence


def test_a_peak_of_keys_with_limits_says_that_it_may_last_longer(limited: BizType) -> None:
    due_at(limited, after(600), 20_000)
    BizType.objects.update(key_rate=1.0)

    (peak,) = ahead()

    assert peak.sentence.endswith("at the soonest, since each flow key has a limit")
