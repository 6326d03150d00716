"""How many jobs a second may start beside the fresh ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasksapp.biz_types.breaker import CLOSED, Breaker
from tasksapp.models import BizType
from tasksapp.operations.cursor import Walk
from tasksapp.operations.feed import FIRST, LEAST, LEAST_SHARE, SHARE, Demand, feed_of, hindrance_of, why_held

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def feed(
    walk: Walk, *, rate: float | None = None, fresh: float = 0.0, behind: int = 0, late: float | None = None
) -> float:
    demand = Demand(fresh_per_second=fresh, behind=behind, late_ms=late)
    return feed_of(walk, BizType(code="a", delivery_rate=rate), demand, breaker=CLOSED, now=NOW)


def turns(walk: Walk, count: int, **demand: float) -> float:
    return [feed(walk, **demand) for _ in range(count)][-1]  # type: ignore[arg-type]  # numbers by name


def test_it_begins_small_and_grows_while_jobs_are_on_time() -> None:
    walk = Walk(biz_type=1)

    assert feed(walk) == FIRST
    assert turns(walk, 25, late=10) > 8 * FIRST
    assert not walk.was_late


def test_what_holds_the_feed_is_known() -> None:
    grows, late, limited = Walk(biz_type=1), Walk(biz_type=2, feed=400.0), Walk(biz_type=3, feed=1_000.0)

    said = [
        why_held(grows, feed(grows)),
        why_held(late, feed(late, behind=100)),
        why_held(limited, feed(limited, rate=100, fresh=60)),
    ]

    assert said == ["begins", "late", "limit"]


def test_it_shrinks_as_soon_as_jobs_stand_in_line_and_then_grows_slowly() -> None:
    walk = Walk(biz_type=1)
    before = turns(walk, 25, late=10)

    after = feed(walk, late=200)

    assert after == pytest.approx(before * 0.7)
    assert feed(walk, late=10) == pytest.approx(after * 1.02)


def test_it_halves_where_jobs_are_far_behind() -> None:
    walk = Walk(biz_type=1, feed=400.0)

    assert feed(walk, behind=100) == 200


def test_what_is_usually_late_does_not_count() -> None:
    walk = Walk(biz_type=1)

    assert turns(walk, 25, late=120) > 7 * FIRST


def test_fresh_jobs_and_what_is_behind_come_first() -> None:
    walk = Walk(biz_type=1, feed=1_000.0)

    assert feed(walk, rate=100, fresh=60) == pytest.approx(100 * SHARE - 60)
    assert feed(walk, rate=100, fresh=95) == 0
    assert feed(walk, rate=100, behind=500) == 0


def test_an_operation_always_ends() -> None:
    limited, unlimited = Walk(biz_type=1), Walk(biz_type=2)

    assert turns(limited, 50, rate=100, late=10) > turns(limited, 1, rate=100, late=9_000)
    for late in range(1_000, 50_000, 1_000):
        slowest = feed(limited, rate=100, fresh=20, late=late), feed(unlimited, late=late)

    assert slowest == (pytest.approx((100 * SHARE - 20) * LEAST_SHARE), pytest.approx(LEAST, rel=5))


def test_what_holds_a_biz_type_holds_its_operations() -> None:
    down = Breaker(open_until_ms=1_767_323_100_000)

    assert hindrance_of(BizType(code="a"), breaker=CLOSED, now=NOW) == {}
    assert hindrance_of(BizType(code="a", enabled=False), breaker=CLOSED, now=NOW)["why"] == "disabled"
    assert hindrance_of(BizType(code="a", paused_until=datetime.max.replace(tzinfo=UTC)), breaker=CLOSED, now=NOW) == {
        "why": "paused",
        "biz_type": "a",
    }
    assert hindrance_of(BizType(code="a"), breaker=down, now=NOW) == {
        "why": "breaker",
        "biz_type": "a",
        "until": "2026-01-02T03:05:00+00:00",
    }
