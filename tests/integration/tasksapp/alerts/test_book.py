"""Alerts begin, stay, end and come back; each of that is said once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasksapp.alerts.book import What, names_of, needed_calm
from tasksapp.alerts.conditions import Condition, Judgement
from tasksapp.models import Alert, AlertKind
from tests.integration.tasksapp.alert_story import BEGIN, KINDS, Story

pytestmark = pytest.mark.django_db


def test_a_fault_that_lasts_is_said_once_and_its_end_once() -> None:
    story = Story()

    said = [story.at(second, wrong=second < 30) for second in range(0, 60, 3)]

    assert [(index * 3, what) for index, each in enumerate(said) for what in each] == [
        (9, What.BEGAN),
        (39, What.OVER),  # well since 30, and nine seconds long
    ]
    (alert,) = Alert.objects.all()
    assert (alert.began_at, alert.ended_at) == (BEGIN, BEGIN + timedelta(seconds=30))


def test_a_blip_is_not_said_and_leaves_nothing() -> None:
    story = Story()

    said = [story.at(0, wrong=True), story.at(3, wrong=True), story.at(6, wrong=False), story.at(60, wrong=False)]

    assert said == [[], [], [], []]
    assert not Alert.objects.exists()


def test_what_comes_back_soon_is_over_only_after_a_long_calm() -> None:
    story = Story()

    # Bad for 15 seconds of each minute, for an hour.
    said = [(second, story.at(second, wrong=second % 60 < 15)) for second in range(0, 3_600, 3)]
    said += [(second, story.at(second, wrong=False)) for second in range(3_600, 4_800, 3)]

    events = [(second, what) for second, each in said for what in each]
    assert [what for _, what in events] == [What.BEGAN, What.OVER, What.BEGAN, What.OVER]
    assert events[-1][0] == 3_555 + needed_calm(1).total_seconds()
    assert [alert.returns for alert in Alert.objects.order_by("id")] == [0, 1]


def test_what_stays_is_said_again_every_some_hours() -> None:
    story = Story()

    said = [story.at(minute * 60, wrong=True) for minute in range(0, 60 * 14, 10)]

    assert [what for each in said for what in each] == [What.BEGAN, What.STAYS, What.STAYS]


def test_what_could_not_be_judged_stays_as_it_is() -> None:
    story = Story()
    story.at(0, wrong=True)
    story.at(9, wrong=True)

    said = [story.at(second, wrong=False, kinds=frozenset()) for second in range(12, 60, 3)]

    assert not any(said)
    assert Alert.objects.get().is_open


def test_two_processes_that_see_the_same_say_it_once() -> None:
    first, second = Story(), Story()

    said = [story.at(moment, wrong=True) for moment in (0, 9, 12) for story in (first, second)]

    assert [what for each in said for what in each] == [What.BEGAN]
    assert Alert.objects.count() == 1


def test_new_facts_are_kept_and_not_said(settings: Any) -> None:
    story = Story(AlertKind.DEAD, biz_type="order.close", died=1, dead=1)
    kinds = frozenset({AlertKind.DEAD})
    story.at(0, wrong=True, kinds=kinds)
    story.at(9, wrong=True, kinds=kinds)
    story.facts = {"biz_type": "order.close", "died": 1_000, "dead": 1_000}

    assert story.at(12, wrong=True, kinds=kinds) == []

    assert "jobs die, 1,000 lately" in Alert.objects.get().sentence


def test_what_is_old_is_deleted() -> None:
    story = Story()
    for second in (0, 9, 12, 30):
        story.at(second, wrong=second < 12)

    story.book.purge(now=BEGIN + timedelta(days=89))
    assert Alert.objects.count() == 1

    story.book.purge(now=BEGIN + timedelta(days=91))
    assert not Alert.objects.exists()


def test_events_have_names_for_the_log() -> None:
    story = Story()
    story.at(0, wrong=True)

    events = story.book.apply(
        Judgement(conditions=[Condition(kind=AlertKind.REDIS_AWAY)], kinds=KINDS), now=BEGIN + timedelta(seconds=9)
    )

    assert names_of(events) == ["began: redis_away"]
