"""Totals of the pulses, by biz type."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasksapp.metrics.job_numbers import read_totals
from tasksapp.models import BizType
from tasksapp.sql.pulses import PulseKey, add_pulses
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def test_each_biz_type_has_its_own_and_the_others_have_theirs_together(
    biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    others = [make_biz_type(f"order.{number}") for number in range(2)]
    for each, number in ((biz_type, 1), (others[0], 20), (others[1], 300)):
        add_pulses(
            {
                PulseKey(AT, each.id, "failed", "timeout"): number,
                PulseKey(AT, each.id, "failed", "dns"): number,
                PulseKey(AT, each.id, "lateness", "9"): number,
                PulseKey(AT, each.id, "duration", "40"): number,
            },
            using="default",
        )

    found = read_totals([biz_type.id], with_others=True)

    assert (found[biz_type.id].counts["failed"], found[biz_type.id].failures["dns"]) == (2, 1)
    assert (found[None].lateness, found[None].duration) == ({9: 320}, {40: 320})
    assert None not in read_totals([biz_type.id], with_others=False)
