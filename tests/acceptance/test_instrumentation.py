"""Sentry, OpenTelemetry, Flower's metrics and what else tracing libraries replace see the same on both brokers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from delayhub.local.redis_server import RedisServer

pytestmark = pytest.mark.slow

RUN = Path(__file__).with_name("instrumented_run.py")


@pytest.fixture(scope="module")
def on_redis(redis_server: RedisServer) -> dict[str, Any]:
    """What they saw on kombu's own transport."""
    return seen(redis_server, "redis")


def seen(server: RedisServer, scheme: str, *options: str) -> dict[str, Any]:
    """Return what they see of the project on an empty broker."""
    with server.client() as client:
        client.flushall()
    url = server.url.replace("redis://", f"{scheme}://")
    command = [sys.executable, RUN, url, *options]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which hides OpenTelemetry
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_project_shows_all_that_is_compared(on_redis: dict[str, Any]) -> None:
    kinds = {item.split(" ")[0] for item in on_redis["sentry"]}

    assert kinds == {"check-in", "event", "transaction"}
    assert {"in_progress", "ok"} <= {item.split(" ")[2] for item in on_redis["sentry"]}
    assert set(on_redis["replaced"]) == {
        *("Celery.send_task", "Task.apply_async", "build_tracer", "BaseLoader.init_worker", "Scheduler.apply_entry"),
        *("Producer.publish", "Producer._publish", "Consumer._receive_callback"),
    }
    assert (on_redis["ticks"], len(on_redis["opentelemetry"])) == (True, 22)
    assert {event.split(" ")[0] for event in on_redis["events"]} == {
        *("task-sent", "task-received", "task-started", "task-succeeded", "task-failed", "task-retried")
    }
    assert on_redis["flower"]


@pytest.mark.parametrize("order", ["install-first", "instrument-first"])
def test_tracing_libraries_see_on_delayhub_what_they_see_on_redis(
    on_redis: dict[str, Any], redis_server: RedisServer, order: str
) -> None:
    assert seen(redis_server, "delayhub", f"--{order}") == on_redis
