"""Odd but legal use: prefixes, ids, times, queues that end by themselves, workers that differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from kombu import Connection

from delayhub.engine import Counts, DelayQueue, EngineOptions
from tests.consuming import take_all
from tests.fixture_types import Stored
from tests.integration.delayhub.transport.publishing import publish


def bodies_of(connection: Any, queue: str = "q") -> list[Any]:
    """The bodies that are due, acknowledged."""
    return [message.payload for message in take_all(connection, queue)]


def test_apps_with_different_prefixes_do_not_see_each_other(broker: str, redis_client: redis.Redis) -> None:
    first, second = (Connection(broker, transport_options={"global_keyprefix": prefix}) for prefix in ("a:", "b:"))
    with first, second:
        publish(first, "first")
        publish(second, "second")

        assert all(key[:2] in (b"a:", b"b:") for key in redis_client.scan_iter())
        assert (bodies_of(first), bodies_of(second)) == (["first"], ["second"])
    assert DelayQueue(redis_client, "q", options=EngineOptions(key_prefix="a:")).count() == Counts(0, 0, 0, 0)


@pytest.mark.parametrize(
    "odd", ["a b", "{brace}", "x#1", "☃" * 30, "1e3", "-0", "n:q", "%", "x" * 200, "\x00", "a\nb", "#", "\udcff"]
)
def test_ids_may_have_any_characters(odd: str, connection: Any, stored: Stored) -> None:
    publish(connection, 1, id=odd)
    publish(connection, 2, id=odd)

    assert bodies_of(connection) == [1, 2]
    with connection.channel() as channel:
        channel.book.keep()
    assert stored("q").count() == Counts(0, 0, 0, 0)


@pytest.mark.parametrize("name", ["with space", "a:b", "{x}", "ünï", "q:waiting"])
def test_queues_may_have_any_name(name: str, connection: Any) -> None:
    publish(connection, "here", queue=name)

    assert bodies_of(connection, name) == ["here"]


@pytest.mark.parametrize(
    "delay",
    [
        timedelta(days=25),  # beyond 2^31 ms
        timedelta(days=365 * 20),  # beyond 2038
        timedelta(days=365 * 900),
    ],
)
def test_delays_may_be_years(delay: timedelta, connection: Any, stored: Stored) -> None:
    due = datetime(2026, 11, 21, 12, 0, 0, 123_000, UTC) + delay

    publish(connection, id="far", eta=due.isoformat())

    (listed,) = stored("q").list("waiting")
    assert listed.at_ms == int(due.timestamp() * 1000)


@pytest.mark.parametrize("eta", ["0001-01-01T00:00:00+14:00", "1969-07-20T20:17:40+00:00", "2000-01-01T00:00:00+00:00"])
def test_a_time_in_the_past_is_now(eta: str, connection: Any) -> None:
    publish(connection, "late", id="t", eta=eta)

    assert bodies_of(connection) == ["late"]


def test_an_eta_without_a_time_zone_is_in_utc_as_celerys_workers_read_it(connection: Any, stored: Stored) -> None:
    publish(connection, id="t", eta="2030-01-15T12:00:00")

    (listed,) = stored("q").list("waiting")
    assert listed.at_ms == datetime(2030, 1, 15, 12, tzinfo=UTC).timestamp() * 1000
