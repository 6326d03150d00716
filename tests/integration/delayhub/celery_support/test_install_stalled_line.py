"""How long a publish waits where Redis does not answer, as docs/celery/broker.md says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from kombu.exceptions import OperationalError

import delayhub
from delayhub.local.redis_server import RedisServer
from tests.tcp_proxy import TcpProxy

ANSWER_SECONDS = 0.5


@pytest.fixture
def proxy(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[TcpProxy]:
    with TcpProxy(redis_server.port) as opened:
        yield opened
        opened.stalled.clear()


@pytest.fixture
def app(proxy: TcpProxy) -> Iterator[Celery]:
    made = Celery("stalled", broker=f"delayhub://127.0.0.1:{proxy.port}/0")
    made.conf.broker_transport_options = {"socket_timeout": ANSWER_SECONDS}
    delayhub.install(made)
    made.send_task("shop.close")  # connected
    yield made
    made.close()


def answers_waited_for(app: Celery, **options: Any) -> float:
    """Return for how many timeouts a publish waited that failed, without its pauses between retries."""
    started = time.monotonic()
    with pytest.raises(OperationalError):
        app.send_task("shop.close", **options)
    return (time.monotonic() - started) / ANSWER_SECONDS


@pytest.mark.timing
def test_a_line_that_was_forgotten_costs_one_timeout(app: Celery, proxy: TcpProxy) -> None:
    assert proxy.mute() > 0
    started = time.monotonic()

    app.send_task("shop.close")

    assert ANSWER_SECONDS <= time.monotonic() - started < 2 * ANSWER_SECONDS + 1


@pytest.mark.timing
@pytest.mark.parametrize(
    ("options", "timeouts"),
    [({"retry": False}, 1), ({"retry_policy": {"interval_step": 0}}, 5)],
)
def test_a_redis_that_answers_nothing_costs_a_timeout_for_each_try(
    app: Celery, proxy: TcpProxy, options: dict[str, Any], timeouts: int
) -> None:
    proxy.stalled.set()

    waited = answers_waited_for(app, **options)

    assert timeouts * 0.99 <= waited < timeouts + 1.9
