"""The site's numbers are read once in some seconds, and what does not answer leaves no numbers behind."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from celery import Celery
from django.db import OperationalError, connections
from prometheus_client import CollectorRegistry, generate_latest

from delayhub.engine import TimerLane
from tasksapp.metrics import catalogue, collector
from tasksapp.metrics.collector import ReadUnderWay, SiteCollector
from tasksapp.models import BizType, LoaderReport
from tasksapp.timers.lanes import without_redis
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.metrics.samples import samples
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db


def test_all_metrics_are_there_and_no_others(app: Celery, lane: TimerLane, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", max_in_flight=1)
    lane.claim()
    LoaderReport.objects.create(epoch="e", redis="r", worker="w", seen_at="2026-01-01T00:00:00Z")

    families = SiteCollector().collect()

    described = {each.name.removesuffix("_total"): each for each in catalogue.EVERY}
    assert sorted(family.name for family in families) == sorted(described)
    for family in families:
        assert (family.type, family.documentation) == (described[family.name].kind, described[family.name].about)
    found = samples(families)
    assert (found["delayhub_part_up", "database"], found["delayhub_part_up", "redis"]) == (1, 1)
    assert found["delayhub_delivery_state", "no_loader"] == 1
    assert found["delayhub_delivery_state", "ok"] == 0


def test_they_are_read_once_in_some_seconds(biz_type: BizType, app: Celery) -> None:
    clock = StandingClock()
    site = SiteCollector(clock)
    assert samples(site.collect())["delayhub_biz_types",] == 1
    BizType.objects.create(code="order.remind")

    clock.seconds += collector.KEPT_SECONDS - 0.1
    assert samples(site.collect())["delayhub_biz_types",] == 1
    clock.seconds += 0.2
    assert samples(site.collect())["delayhub_biz_types",] == 2


def test_a_second_reader_does_not_wait_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "WAIT_SECONDS", 0.05)
    site = SiteCollector()
    with site._lock, pytest.raises(ReadUnderWay):
        site.collect()


def test_without_redis_the_numbers_of_the_database_remain(biz_type: BizType, app: Celery) -> None:
    with without_redis():
        found = samples(SiteCollector().collect())

    assert (found["delayhub_part_up", "database"], found["delayhub_part_up", "redis"]) == (1, 0)
    assert found["delayhub_delivery_state", "redis_away"] == 1
    assert found["delayhub_jobs", "default", "order.close", "dead"] == 0
    assert not any(name[0] in {"delayhub_gate_waiting", "delayhub_workers"} for name in found)


def test_without_the_database_those_of_redis_remain(app: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(collector.BizTypeSeries, "read", away)

    found = samples(SiteCollector().collect())

    assert (found["delayhub_part_up", "database"], found["delayhub_part_up", "redis"]) == (0, 1)
    assert "delayhub_queue_due" in {name[0] for name in found}
    assert "delayhub_jobs" not in {name[0] for name in found}


def test_any_registry_takes_it_and_registering_reads_nothing(django_assert_num_queries: Callable[..., Any]) -> None:
    registry = CollectorRegistry()
    with django_assert_num_queries(0):
        registry.register(SiteCollector())

    assert b"delayhub_build_info{version=" in generate_latest(registry)


@pytest.mark.django_db(transaction=True)
def test_it_may_be_asked_in_a_thread_of_prometheus_clients(app: Celery, biz_type: BizType) -> None:
    found: list[Any] = []
    left_open: list[bool] = []

    def scrape() -> None:
        found.extend(SiteCollector().collect())
        left_open.extend(one.connection is not None for one in connections.all(initialized_only=True))

    thread = Thread(target=scrape)
    thread.start()
    thread.join(60)

    assert "delayhub_jobs" in {family.name for family in found}
    assert not any(left_open)
