"""Where the timers are, by the settings only."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.errors import OptionError
from tasksapp.timers.broker import timer_pool, timer_prefix

pytestmark = pytest.mark.usefixtures("current_celery")


def address() -> tuple[Any, ...]:
    known = timer_pool(timeout_seconds=1).connection_kwargs
    return known["host"], known.get("port", 6379), known.get("db", 0), known.get("password")


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        ("delayhub://:secret@cache:6380/2", ("cache", 6380, 2, "secret")),
        ("delayhubs://cache:6380/2", ("cache", 6380, 2, None)),
    ],
)
def test_timers_live_where_the_broker_is(settings: Any, broker: str, expected: tuple[Any, ...]) -> None:
    settings.DELAYHUB = {}
    settings.CELERY_BROKER_URL = broker

    assert address() == expected

    settings.DELAYHUB = {"REDIS_URL": "redis://elsewhere:1/0"}
    assert address() == ("elsewhere", 1, 0, None)


def test_a_broker_that_is_no_redis_server_cannot_hold_timers(settings: Any) -> None:
    settings.DELAYHUB = {}
    settings.CELERY_BROKER_URL = "amqp://guest@cache//"

    with pytest.raises(OptionError, match="amqp:// is no broker of DelayHub"):
        timer_pool(timeout_seconds=1)


def test_an_option_of_the_brokers_url_that_is_not_known_is_named(settings: Any) -> None:
    settings.DELAYHUB = {}
    settings.CELERY_BROKER_URL = "delayhub://cache:6379/0?nosuch=1"

    with pytest.raises(OptionError, match=r"the broker's URL has an option that is not known: .*nosuch"):
        timer_pool(timeout_seconds=1)


def test_the_prefix_is_the_brokers_unless_it_is_given(settings: Any) -> None:
    settings.DELAYHUB = {}
    assert timer_prefix() == ""

    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": "shop:"}
    assert timer_prefix() == "shop:"

    settings.DELAYHUB = {"KEY_PREFIX": ""}
    assert timer_prefix() == ""
