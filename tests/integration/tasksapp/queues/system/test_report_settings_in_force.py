"""The settings in force: what differs from the defaults, and no secret."""

from __future__ import annotations

from typing import Any

from celery import Celery

from tasksapp.queues.system.report import settings_section


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
