"""Jobs on a database of their own, by a router, in a project whose requests are transactions."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import Client
from django.urls import include, path

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.access.callers import last_uses
from tasksapp.access.keys import issue_key
from tasksapp.api import addresses, urls
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job
from tests.second_database import second_database

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "jobs"])


class JobsElsewhere:
    """Puts this app's tables, and nothing else, on the database ``jobs``."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "jobs" if model._meta.app_label == "tasksapp" else None

    db_for_write = db_for_read


@pytest.fixture(scope="module", autouse=True)
def _second_database(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """A database of the same kind as the first, before the tests ask for both."""
    with django_db_blocker.unblock(), second_database("jobs", folder=tmp_path_factory.mktemp("jobs")):
        with django_db_blocker.block():
            yield


@pytest.fixture(autouse=True)
def _two_databases(
    transactional_db: None, settings: Any, _private_redis: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Jobs are on the second one; requests are transactions on both."""
    settings.DATABASE_ROUTERS = [JobsElsewhere()]
    for alias in ("default", "jobs"):
        monkeypatch.setitem(connections.settings[alias], "ATOMIC_REQUESTS", True)
    last_uses.forget()
    yield
    biz_type_cache.clear()
    last_uses.forget()


def on_default() -> int:
    """Jobs on the first database, where none should be."""
    return Job.objects.using("default").count()


def test_jobs_and_their_verbs_follow_the_router(biz_type: BizType, lane: TimerLane) -> None:
    made = create("order.close", biz_id="1", delay=60, idempotency_key="i", debounce_key="d")
    later = create("order.close", biz_id="1", delay=90, debounce_key="d")

    assert (made.armed, later.armed, later.job_id) == (True, True, made.job_id)
    assert made.job._state.db == later.job._state.db == "jobs"
    assert lane.count() == 1
    assert jobs.cancel(jobs.find_live("order.close", "1").id).status == "cancelled"
    assert lane.count() == 0
    assert (Job.objects.count(), on_default()) == (1, 0)


def test_a_database_that_is_named_goes_before_the_router(biz_type: BizType, lane: TimerLane) -> None:
    BizType.objects.using("default").create(code="order.close", url="https://receiver.example/hook")

    made = create("order.close", delay=timedelta(minutes=1), using="default")

    assert made.armed
    assert (made.job._state.db, Job.objects.count(), on_default()) == ("default", 0, 1)


def test_timers_wait_for_the_commit_of_the_jobs_database_only(biz_type: BizType, lane: TimerLane) -> None:
    with transaction.atomic():
        assert create("order.close", delay=60).armed is True
        transaction.set_rollback(True)
    assert (Job.objects.count(), lane.count()) == (1, 1)

    with transaction.atomic(using="jobs"):
        assert create("order.close", delay=60).armed is None
        assert lane.count() == 1
        transaction.set_rollback(True, using="jobs")
    assert (Job.objects.count(), lane.count()) == (1, 1)


def test_the_api_knows_what_it_armed_though_requests_are_transactions(
    biz_type: BizType, lane: TimerLane, settings: Any
) -> None:
    # The addresses are made once, for the databases that there are then.
    root = ModuleType("addresses_of_two_databases")
    importlib.reload(addresses)
    root.__dict__["urlpatterns"] = [path("api/", include(importlib.reload(urls)))]
    settings.ROOT_URLCONF = root
    headers = {"authorization": f"Bearer {issue_key('caller').key}"}
    job = {"biz_type": "order.close", "delay": 60}

    def ask(where: str, body: Any) -> Any:
        return Client().post(f"/api/v1/{where}", body, content_type="application/json", headers=headers).json()

    made = ask("jobs", job)
    assert made["armed"] is True
    assert lane.count() == 1
    assert ask("jobs/bulk", {"jobs": [job, {"biz_type": "nope"}]})["created"] == 1
    assert ask(f"jobs/{made['id']}/cancel", {})["status"] == "cancelled"
    assert lane.count() == 1
    assert (Job.objects.count(), on_default()) == (2, 0)
