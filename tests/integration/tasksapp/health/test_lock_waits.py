"""Connections of a web process wait so long for a lock, and no longer; a pooler that refuses that is given way to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from tasksapp.health.lock_waits import bound_lock_waits, give_way_to_pooler, has_lock_timeout

pytestmark = pytest.mark.django_db


@pytest.fixture
def known() -> Iterator[dict[str, Any]]:
    """The options of the database, which are as they were after the test."""
    found = connection.settings_dict["OPTIONS"]
    before = dict(found)
    yield found
    found.clear()
    found.update(before)


def bound_of_a_new_connection() -> str:
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SHOW lock_timeout" if connection.vendor == "postgresql" else "PRAGMA busy_timeout")
            return str(cursor.fetchone()[0])
    finally:
        other.close()


def test_connections_that_are_made_later_have_the_bound(known: dict[str, Any], settings: Any) -> None:
    settings.DELAYHUB = {"WEB_LOCK_SECONDS": 1.5}
    before = bound_of_a_new_connection()

    bound_lock_waits()

    assert before not in {"1500ms", "1500"}
    assert bound_of_a_new_connection() in {"1500ms", "1500"}


def test_with_zero_they_wait_as_before(known: dict[str, Any], settings: Any) -> None:
    settings.DELAYHUB = {"WEB_LOCK_SECONDS": 0}
    before = bound_of_a_new_connection()

    bound_lock_waits()

    assert bound_of_a_new_connection() == before


@pytest.mark.postgresql_only
def test_a_bound_of_the_project_stays_and_so_do_other_options(known: dict[str, Any]) -> None:
    known["options"] = "-c statement_timeout=90000"
    bound_lock_waits()
    added = known["options"]
    known["options"] = "-c lock_timeout=700"
    bound_lock_waits()

    assert added == "-c statement_timeout=90000 -c lock_timeout=3000"
    assert bound_of_a_new_connection() == "700ms"


@pytest.mark.postgresql_only
def test_a_pooler_that_refuses_it_is_given_way_to(known: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    known["options"] = "-c statement_timeout=90000"
    bound_lock_waits()

    away = give_way_to_pooler("default", OperationalError("connection refused"))
    refused = give_way_to_pooler("default", OperationalError("FATAL:  unsupported startup parameter: options"))

    assert (away, refused) == (False, True)
    assert known["options"] == "-c statement_timeout=90000"
    assert "ALTER ROLE" in caplog.text


def test_what_sets_the_bound_is_seen() -> None:
    assert has_lock_timeout({"options": "-c lock_timeout=2s"})
    assert not has_lock_timeout({"options": None})
    assert not has_lock_timeout({})
