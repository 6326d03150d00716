"""``manage.py probe_worker``: its exit code says whether a worker lives."""

from __future__ import annotations

import socket
from io import StringIO

import pytest
import redis
from django.core.management import CommandError, call_command

from tasksapp.queues.heartbeats import Beat, write_beat
from tasksapp.timers.lanes import without_redis
from tests.redis_time import redis_now_ms


def beat(client: redis.Redis, *, host: str) -> None:
    now_ms = redis_now_ms(client)
    write_beat(
        client, Beat(name=f"{host}:1", host=host, pid=1, node=f"celery@{host}", seen_ms=now_ms, started_ms=now_ms)
    )


def test_a_worker_on_this_machine_is_alive(redis_client: redis.Redis) -> None:
    host, said = socket.gethostname(), StringIO()
    beat(redis_client, host=host)

    call_command("probe_worker", stdout=said)

    assert said.getvalue() == f"celery@{host}: alive, 0 tasks run\n"


def test_one_on_another_machine_counts_only_where_that_is_asked_for(redis_client: redis.Redis) -> None:
    beat(redis_client, host="another")

    with pytest.raises(CommandError, match="no worker on this machine"):
        call_command("probe_worker")
    call_command("probe_worker", anywhere=True, stdout=StringIO())


def test_a_redis_that_is_away_is_no_reason_to_start_a_worker_again() -> None:
    with without_redis():
        call_command("probe_worker", stdout=StringIO())
        with pytest.raises(CommandError, match="Redis does not answer"):
            call_command("probe_worker", strict=True)
