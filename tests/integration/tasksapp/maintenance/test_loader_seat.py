"""The seat: one loader at a time has it."""

from __future__ import annotations

import pytest

from delayhub.engine import TimerLane
from tasksapp.maintenance.loader import Leader, Loader, Turn
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_loader_has_the_seat_and_another_takes_over_when_it_resigns(biz_type: BizType, loader: Loader) -> None:
    other = Loader(using="default")

    assert loader.run_once().held
    assert not other.run_once().held
    loader.resign()
    assert other.run_once() == Turn(held=True, reloaded=True)
    assert not loader.run_once().held


def test_the_seat_of_a_loader_that_died_is_free_after_its_lease(
    biz_type: BizType, loader: Loader, lane: TimerLane
) -> None:
    loader.run_once()

    assert 0 < lane.client.pttl(lane.keys.loader) <= 10_000


def test_a_loader_without_the_seat_takes_it_from_no_other_by_resigning(db: None) -> None:
    first, second = Leader(), Leader()
    assert first.hold()

    second.resign()

    assert not second.hold()
    assert first.hold()
