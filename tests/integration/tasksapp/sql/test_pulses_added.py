"""Pulses grow by what is added."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError

from tasksapp.models import BizType, Pulse, PulseTotal
from tasksapp.sql.pulses import PulseKey, add_pulses

pytestmark = pytest.mark.django_db(transaction=True)

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def test_a_pulse_is_made_and_then_grows(biz_type: BizType) -> None:
    done, failed = PulseKey(AT, biz_type.id, "succeeded", ""), PulseKey(AT, biz_type.id, "failed", "http.503")

    add_pulses({done: 3, failed: 1}, using="default")
    add_pulses({done: 4}, using="default")
    add_pulses({}, using="default")

    rows = Pulse.objects.order_by("kind").values_list("at", "span_seconds", "kind", "key", "count")
    assert list(rows) == [(AT, 60, "failed", "http.503", 1), (AT, 60, "succeeded", "", 7)]


def test_totals_grow_over_all_minutes(biz_type: BizType) -> None:
    later = AT + timedelta(minutes=1)
    first, second = PulseKey(AT, biz_type.id, "lateness", "9"), PulseKey(later, biz_type.id, "lateness", "9")

    add_pulses({first: 3, second: 1}, using="default")
    add_pulses({second: 2}, using="default")

    assert list(PulseTotal.objects.values_list("kind", "key", "count")) == [("lateness", "9", 6)]


def test_a_biz_type_that_is_gone_is_an_error(db: None) -> None:
    with pytest.raises(IntegrityError):
        add_pulses({PulseKey(AT, 99, "succeeded", ""): 1}, using="default")
