"""Created jobs are counted minute by minute, each once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from delayhub.clock import due_ms
from tasksapp.maintenance.creation_counter import CreationCounter
from tasksapp.models import BizType, Pulse, PulseTotal
from tasksapp.models.job_id import first_id_at
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def created(biz_type: BizType, at: datetime) -> None:
    store_job(biz_type, id=first_id_at(due_ms(at)))


def totals() -> dict[str, int]:
    return dict(PulseTotal.objects.filter(kind="created").values_list("biz_type__code", "count"))


def begun() -> CreationCounter:
    counter = CreationCounter(using="default")
    counter.run_once(now=START)
    return counter


def test_each_minute_is_counted_once_it_is_over_by_biz_type(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other, counter = make_biz_type("order.remind"), begun()
    created(biz_type, START + timedelta(seconds=1))
    created(biz_type, START + timedelta(seconds=59.999))
    created(other, START + timedelta(seconds=2))
    created(biz_type, START + timedelta(seconds=60))

    assert counter.run_once(now=START + timedelta(seconds=89)) == 0  # a transaction may still commit
    assert counter.run_once(now=START + timedelta(seconds=90)) == 3
    assert counter.run_once(now=START + timedelta(seconds=149)) == 0

    assert totals() == {"order.close": 2, "order.remind": 1}
    assert Pulse.objects.get(biz_type=biz_type, kind="created").at == START


def test_another_loader_goes_on_where_the_last_one_ended(biz_type: BizType) -> None:
    counter = begun()
    created(biz_type, START)
    counter.run_once(now=START + timedelta(minutes=2))
    created(biz_type, START + timedelta(minutes=5))

    counted = CreationCounter(using="default").run_once(now=START + timedelta(hours=9))

    assert counted == 1
    assert totals() == {"order.close": 2}


def test_two_loaders_at_once_count_no_minute_twice(biz_type: BizType) -> None:
    one, other = begun(), begun()
    created(biz_type, START)

    counted = [each.run_once(now=START + timedelta(minutes=2)) for each in (one, other, one, other)]

    assert counted == [1, 0, 0, 0]
    assert totals() == {"order.close": 1}


def test_the_first_time_of_all_nothing_old_is_counted(biz_type: BizType) -> None:
    created(biz_type, START - timedelta(hours=1))

    assert begun().run_once(now=START + timedelta(minutes=5)) == 0
