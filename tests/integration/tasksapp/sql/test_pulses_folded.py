"""Minutes become longer stretches, and the oldest go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import BizType, Pulse
from tasksapp.sql import pulses as module
from tasksapp.sql.pulses import delete_pulses, fold_pulses

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
TEN_MINUTES = timedelta(minutes=10)


def pulse(biz_type: BizType, minutes: int, count: int, kind: str = "succeeded", key: str = "") -> None:
    at = AT + timedelta(minutes=minutes)
    Pulse.objects.create(biz_type=biz_type, at=at, span_seconds=60, kind=kind, key=key, count=count)


def test_the_minutes_of_a_stretch_are_summed_again_and_again(biz_type: BizType) -> None:
    pulse(biz_type, 0, 1)
    pulse(biz_type, 9, 2)
    pulse(biz_type, 10, 100)
    pulse(biz_type, 5, 7, "failed", "dns")

    for _ in range(2):
        fold_pulses(begin=AT, end=AT + TEN_MINUTES, using="default")
    pulse(biz_type, 3, 10)
    fold_pulses(begin=AT, end=AT + TEN_MINUTES, using="default")

    rows = Pulse.objects.filter(span_seconds=600).order_by("kind").values_list("at", "kind", "key", "count")
    assert list(rows) == [(AT, "failed", "dns", 7), (AT, "succeeded", "", 13)]


def test_the_oldest_are_deleted_some_at_a_time(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELETED_ROWS", 2)
    for minutes in range(4):
        pulse(biz_type, minutes, 1)

    deleted = [delete_pulses(60, before=AT + timedelta(minutes=3), using="default") for _ in range(3)]

    assert deleted == [2, 1, 0]
    assert Pulse.objects.get().at == AT + timedelta(minutes=3)
