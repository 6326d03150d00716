"""What is opened again and again is given back: connections, descriptors and threads do not grow."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import redis
from celery import Celery
from kombu import Connection

import delayhub
from delayhub.local.redis_server import RedisServer

ROUNDS = 1_000
WARM_UP = 50
#: No round may take longer, whatever else the machine does.
STALL_SECONDS = 5.0


def resources(client: redis.Redis) -> tuple[int, int, int]:
    """Open descriptors and threads of this process, and connections to the server."""
    return (
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
        int(client.info("clients")["connected_clients"]),
    )


@pytest.mark.slow
def test_a_thousand_channels_leave_nothing_open(redis_server: RedisServer, redis_client: redis.Redis) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("cannot run here: no /proc")
    url = redis_server.url.replace("redis://", "delayhub://")
    with Connection(url) as connection:
        slowest = 0.0
        for number in range(ROUNDS):
            if number == WARM_UP:
                before = resources(redis_client)
            began = time.monotonic()
            channel = connection.channel()
            queue = connection.SimpleQueue("soak", channel=channel)
            queue.put({"number": number})
            message = queue.get(timeout=STALL_SECONDS)
            assert message.payload == {"number": number}
            message.ack()
            queue.close()
            channel.close()
            slowest = max(slowest, time.monotonic() - began)

        after = resources(redis_client)

    assert slowest < STALL_SECONDS
    assert all(now <= then + 3 for now, then in zip(after, before, strict=True)), (before, after)


@pytest.mark.slow
def test_inspecting_again_and_again_uses_up_no_pool(redis_server: RedisServer, redis_client: redis.Redis) -> None:
    app = Celery("shop", broker=redis_server.url.replace("redis://", "delayhub://"), set_as_current=False)
    delayhub.install(app)

    for number in range(60):
        if number == 10:
            before = resources(redis_client)
        assert app.control.inspect(timeout=0.01).ping() is None

    after = resources(redis_client)
    app.close()
    assert all(now <= then + 3 for now, then in zip(after, before, strict=True)), (before, after)
