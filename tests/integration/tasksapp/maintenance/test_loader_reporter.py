"""A loader leaves in the database where it keeps the timers, and that it is at work."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from delayhub.engine import TimerLane
from tasksapp.maintenance.loader import Loader, LoaderReporter
from tasksapp.models import LoaderReport
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_turn_of_the_loader_leaves_a_report_with_the_epoch_that_is_in_redis(
    loader: Loader, lane: TimerLane, settings: Any
) -> None:
    loader.run_once()

    (report,) = LoaderReport.objects.all()
    assert report.epoch.encode() == lane.client.get(lane.keys.epoch)
    assert report.redis == settings.DELAYHUB["REDIS_URL"].removeprefix("redis://")
    assert LoaderReport.objects.filter(seen_at__gt=Now() - timedelta(seconds=30)).exists()


def test_a_report_is_made_again_every_two_seconds() -> None:
    clock = StandingClock()
    reporter = LoaderReporter(using="default", clock=clock)

    assert [reporter.run_once(epoch="here"), reporter.run_once(epoch="here")] == [True, False]
    clock.seconds += 2
    assert reporter.run_once(epoch="here")

    assert LoaderReport.objects.count() == 1


def test_another_redis_is_reported_at_once_and_old_reports_go() -> None:
    reporter = LoaderReporter(using="default", clock=StandingClock())
    reporter.run_once(epoch="before")
    LoaderReport.objects.update(seen_at=Now() - timedelta(days=2))

    assert reporter.run_once(epoch="here")

    assert [report.epoch for report in LoaderReport.objects.all()] == ["here"]


def test_without_an_epoch_there_is_nothing_to_report() -> None:
    assert not LoaderReporter(using="default", clock=StandingClock()).run_once(epoch=None)
