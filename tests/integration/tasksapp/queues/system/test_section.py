"""A section as programs get it, and the sections that say what this process is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery

from tasksapp.queues.heartbeats import Beat, write_beat
from tasksapp.queues.system.purge import purge_section
from tasksapp.queues.system.section import Column, Fact, Section
from tasksapp.queues.system.settings_in_force import settings_section
from tasksapp.queues.system.versions import versions_section
from tests.fixture_types import MakeBizType
from tests.redis_time import redis_now_ms


def test_programs_get_values_by_their_keys() -> None:
    section = Section(
        key="x", title="X", facts=[Fact("a", "A", 1)], columns=[Column("b", "B"), Column("c", "C")], rows=[[2, None]]
    )

    assert section.as_json() == {"a": 1, "rows": [{"b": 2, "c": None}], "faults": [], "warnings": []}


def test_settings_that_differ_from_their_defaults_are_marked(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LEASE_SECONDS": 7, "LANES": ["a", "b"]}

    rows = {row["name"]: (row["value"], row["is_default"]) for row in settings_section().as_json()["rows"]}

    assert rows["LEASE_SECONDS"] == (7, False)
    assert rows["LANES"] == (["a", "b"], False)
    assert rows["FLUSH_SIZE"] == (100, True)


def test_debug_is_warned_of(settings: Any) -> None:
    settings.DEBUG = True

    assert "DEBUG is on" in settings_section().warnings[0]


def test_a_broker_of_another_kind_is_named_by_its_scheme(current_celery: Celery) -> None:
    current_celery.conf.broker_url = "amqp://guest:secret@localhost//"

    assert settings_section().as_json()["broker"] == "amqp://"


def test_versions_name_what_is_installed() -> None:
    found = versions_section().as_json()

    assert {"delayhub", "python", "django", "celery"} <= found.keys()


@pytest.mark.django_db
def test_purge_says_how_long_jobs_are_kept_and_what_was_deleted_last(
    make_biz_type: MakeBizType, redis_client: redis.Redis, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "PURGE_ROWS_PER_MINUTE": 0}
    make_biz_type("a", retention=timedelta(days=1))
    make_biz_type("b", retention=None)
    assert purge_section().as_json()["purged_at"] is None
    write_beat(redis_client, Beat(name="w", purged_ms=redis_now_ms(redis_client), purged_jobs=7))

    found = purge_section().as_json()

    assert (found["shortest_seconds"], found["longest_seconds"], found["kept_always"]) == (86_400, 86_400, 1)
    assert found["purged_jobs"] == 7
    assert "Workers delete nothing" in found["warnings"][0]
