"""The whole report: one section that cannot be read hides no other."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.db import OperationalError, connection

from tasksapp.queues.system.report import system_report

pytestmark = pytest.mark.django_db


def test_nothing_is_wrong_with_servers_that_answer(redis_client: redis.Redis) -> None:
    assert [section.faults for section in system_report(check=True) if section.faults] == []


def test_a_database_that_is_away_leaves_what_redis_knows(redis_client: redis.Redis) -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        found = {section.key: section for section in system_report(check=True)}

    for key in ("loader", "timers", "database", "purge"):
        assert found[key].faults == ["The database does not answer (OperationalError)."]
    assert not found["redis"].faults
    assert not found["workers"].faults


def test_settings_that_name_no_redis_are_pointed_out(settings: Any) -> None:
    settings.DELAYHUB = {"REDIS_URL": "http://nonsense"}

    found = {section.key: section for section in system_report()}

    assert "The settings do not say" in found["redis"].faults[0]
    assert found["versions"].faults == ()
