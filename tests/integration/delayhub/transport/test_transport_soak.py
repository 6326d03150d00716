"""What is opened again and again is given back: connections, descriptors and threads do not grow."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from queue import Empty

import pytest
import redis
from celery import Celery
from kombu import Connection, Message

import delayhub
from delayhub.local.redis_server import RedisServer
from tests.property_sizes import examples
from tests.tcp_proxy import TcpProxy

ROUNDS = examples(300)
WARM_UP = 50
#: No round may take longer, whatever else the machine does.
STALL_SECONDS = 20.0


def resources(client: redis.Redis) -> tuple[int, int, int]:
    """Open descriptors and threads of this process, and connections to the server."""
    return (
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
        int(client.info("clients")["connected_clients"]),
    )


@pytest.mark.slow
def test_hundreds_of_channels_leave_nothing_open(redis_server: RedisServer, redis_client: redis.Redis) -> None:
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


@pytest.mark.slow
def test_connections_that_are_cut_or_half_open_are_replaced_within_seconds(
    redis_server: RedisServer, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "delayhub")  # a kept record keeps its error, and that the connection
    app = Celery("shop", set_as_current=False)
    delayhub.install(app)
    with TcpProxy(int(redis_server.url.rsplit(":", 1)[1].split("/")[0])) as proxy:
        url = f"delayhub://127.0.0.1:{proxy.port}/0"
        # Celery publishes like this: what fails on one connection is tried again on the next.
        with app.connection_for_write(url) as publishing, app.connection_for_read(url) as consuming:
            slowest = 0.0
            for number in range(404):
                if number == 52:  # as at the end, the proxy has just let go of all connections
                    before = resources(redis_client)
                if number % 100 == 99:
                    assert proxy.mute() > 0
                elif number % 4 == 3:
                    assert proxy.cut() > 0
                began = time.monotonic()
                app.send_task("nothing", task_id=str(number), connection=publishing, queue="soak")
                published = time.monotonic()
                assert received(consuming).headers["id"] == str(number)
                slowest = max(slowest, published - began, time.monotonic() - published)

            after = resources(redis_client)

    assert slowest < STALL_SECONDS
    assert all(now <= then + 6 for now, then in zip(after, before, strict=True)), (before, after)


def received(connection: Connection) -> Message:
    """The next message of the queue; where its connection is lost, over another one, as a worker does."""
    deadline = time.monotonic() + 60
    while True:
        try:
            queue = connection.SimpleQueue("soak")
            message = queue.get(timeout=1)
            message.ack()
            queue.close()
        except (*connection.connection_errors, *connection.channel_errors, Empty):
            connection.collect()
            assert time.monotonic() < deadline
        else:
            return message
