"""Flower beside a worker on ``delayhub://``: workers, tasks by their events, queues."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from delayhub.local.redis_server import free_port
from tests.acceptance.celery_worker import PROJECT, CeleryWorker
from tests.repository import ROOT
from tests.waiting import wait_until

PAGE = (ROOT / "docs/celery/autoscaling.md").read_text()
[CONFIG] = re.findall(r"```python\n(import delayhub\.celery_support.*?)```", PAGE, re.DOTALL)


@contextmanager
def flower(env: dict[str, str], folder: Path) -> Iterator[Callable[[str], str]]:
    """A running Flower; gets its pages."""
    config = folder / "flowerconfig.py"
    config.write_text(CONFIG)
    port = free_port()

    def page(path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def is_up() -> bool:
        try:
            return bool(page("/healthcheck"))
        except OSError:
            return False

    options = [f"--port={port}", "--address=127.0.0.1", f"--conf={config}", "--broker=" + env["BROKER_URL"]]
    with (folder / "flower.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "proj", "flower", *options],
            cwd=PROJECT,
            env={**os.environ, **env, "FLOWER_UNAUTHENTICATED_API": "1"},
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(is_up, otherwise=lambda: f"Flower: {folder}/flower.log")
        yield page
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.slow
def test_flower_shows_workers_tasks_and_queues(
    proj: Any, env: dict[str, str], worker: Callable[..., CeleryWorker], tmp_path: Path
) -> None:
    with flower(env, tmp_path) as page, worker("threads", EVENTS="1") as running:
        waiting = proj.add.apply_async((1, 1), countdown=100)
        done = proj.add.delay(2, 3)
        assert done.get(timeout=60) == 5

        wait_until(
            lambda: json.loads(page("/api/tasks")).get(done.id, {}).get("state") == "SUCCESS",
            otherwise="the task's events",
        )
        task = json.loads(page(f"/api/task/info/{done.id}"))
        wait_until(lambda: "active_queues" in page("/api/workers?refresh=1"), otherwise="an answer of the worker")
        workers = json.loads(page("/api/workers"))
        queues = json.loads(page("/api/queues/length"))
        table = re.sub(r"<[^>]+>|\s+", " ", page("/broker"))

    assert (task["name"], task["state"], task["result"]) == ("proj.add", "SUCCESS", "5"), running.log
    ((name, told),) = workers.items()
    assert name.split("@")[0] == running.name
    assert [queue["name"] for queue in told["active_queues"]] == ["celery"]
    assert queues["active_queues"] == [
        {"name": "celery", "messages": 1, "messages_ready": 0, "messages_unacknowledged": 0}
    ]
    assert re.search(r"celery\s+1\s+0\s+0", table), table
    proj.app.control.revoke(waiting.id)
