"""Of what begins in a silence nobody is told before the silence ends; it is kept all the same."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasksapp.alerts.book import AlertBook, What
from tasksapp.models import Alert, AlertSilence
from tests.integration.tasksapp.alert_story import BEGIN, Story

pytestmark = pytest.mark.django_db


def silence_until(seconds: float, *, kind: str = "", biz_type_id: int | None = None) -> AlertSilence:
    return AlertSilence.objects.create(
        kind=kind,
        biz_type_id=biz_type_id,
        began_at=BEGIN,
        until=BEGIN + timedelta(seconds=seconds),
        by="ada",
        reason="move",
    )


def test_what_begins_in_a_silence_is_listed_and_said_when_the_silence_ends() -> None:
    story = Story()
    row = silence_until(60)

    said = [(second, story.at(second, wrong=True)) for second in range(0, 90, 3)]

    assert [(second, what) for second, each in said for what in each] == [(60, What.BEGAN)]
    assert Alert.objects.get().told_at == BEGIN + timedelta(seconds=60)
    assert row.until == BEGIN + timedelta(seconds=60)


def test_what_begins_and_ends_in_a_silence_is_said_to_nobody_and_kept() -> None:
    story = Story()
    silence_until(600)

    said = [story.at(second, wrong=second < 30) for second in range(0, 900, 3)]

    assert not any(said)
    assert Alert.objects.get().ended_at == BEGIN + timedelta(seconds=30)


def test_who_was_told_before_a_silence_hears_in_it_that_it_is_over_and_of_no_reminder() -> None:
    story = Story()
    story.at(0, wrong=True)
    story.at(9, wrong=True)
    silence_until(60 * 60 * 24)

    said = [story.at(60 * 60 * hour, wrong=hour < 12) for hour in range(1, 14)]

    assert [what for each in said for what in each] == [What.OVER]


@pytest.mark.parametrize(
    ("kind", "biz_type_id", "is_silent"),
    [("", None, True), ("", 0, True), ("redis_away", 0, True), ("dead", None, False), ("", 7, False)],
)
def test_a_silence_is_about_a_kind_and_a_biz_type_or_about_all(
    kind: str, biz_type_id: int | None, is_silent: bool
) -> None:
    story = Story()
    silence_until(600, kind=kind, biz_type_id=biz_type_id)

    story.at(0, wrong=True)

    assert story.at(9, wrong=True) == ([] if is_silent else [What.BEGAN])


def test_what_is_old_is_deleted_and_what_goes_on_is_not() -> None:
    silence_until(0)
    lasting = silence_until(60 * 60 * 24 * 365)

    AlertBook(using="default").purge(now=BEGIN + timedelta(days=91))

    assert AlertSilence.objects.get() == lasting
