"""Programs with a Celery app of their own reach the broker in each way of docs/celery/autoscaling.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.celery_worker import CeleryWorker
from tests.repository import ROOT
from tests.waiting import wait_until

PAGE = (ROOT / "docs/celery/autoscaling.md").read_text()
[(VARIABLE, LOADER)] = re.findall(r"^ *(CELERY_\w+)=(\S+)$", PAGE, re.MULTILINE)

#: As exporters of events: an app of nothing but the broker's address.
EXPORTER = """
import sys
from celery import Celery

app = Celery(broker=sys.argv[1])
with app.connection() as connection:
    receiver = app.events.Receiver(connection, handlers={"*": lambda event: print(event["type"], flush=True)})
    receiver.capture(limit=None)
"""
#: As Airflow's executor: an app of a configuration, which publishes and asks for results.
EXECUTOR = """
import sys
from celery import Celery

app = Celery("airflow", config_source={"broker_url": sys.argv[1], "result_backend": sys.argv[2]})
print(app.send_task("proj.add", (2, 3)).get(timeout=60))
"""


@contextmanager
def exporter(url: str, folder: Path, **env: str) -> Iterator[Callable[[], list[str]]]:
    """A running exporter; gives the types of the events that it has heard."""
    said = folder / "exporter.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", EXPORTER, url], env={**os.environ, **env}, stdout=log, stderr=log
        )
    try:
        yield lambda: said.read_text().splitlines()
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("way", ["by the variable", "by redis://"])
def test_an_exporter_of_events_hears_workers(
    way: str, proj: Any, env: dict[str, str], worker: Callable[..., CeleryWorker], tmp_path: Path
) -> None:
    by_variable = way == "by the variable"
    url = env["BROKER_URL"] if by_variable else env["BROKER_URL"].replace("delayhub://", "redis://")
    given = {VARIABLE: LOADER} if by_variable else {}

    with exporter(url, tmp_path, **given) as heard, worker("threads", EVENTS="1") as running:
        wait_until(heard, otherwise="the worker's heartbeat")
        assert proj.add.delay(2, 3).get(timeout=60) == 5

        wait_until(
            lambda: {"task-received", "task-started", "task-succeeded"} <= set(heard()),
            otherwise=lambda: f"the task's events: {heard()} {running.log}",
        )


def test_an_executor_publishes_and_has_results_by_the_variable(
    env: dict[str, str], worker: Callable[..., CeleryWorker]
) -> None:
    with worker("threads"):
        done = run_executor(env, **{VARIABLE: LOADER})

    assert done.stdout == "5\n", done.stderr


def test_without_the_variable_the_error_is_that_of_the_page(env: dict[str, str]) -> None:
    done = run_executor(env)

    assert "No such transport: delayhub" in done.stderr
    assert "No such transport: delayhub" in (ROOT / "docs/run/troubleshooting.md").read_text()


def run_executor(env: dict[str, str], **given: str) -> subprocess.CompletedProcess[str]:
    """Run the executor to its end."""
    command = [sys.executable, "-c", EXECUTOR, env["BROKER_URL"], env["RESULT_URL"]]
    return subprocess.run(
        command, env={**os.environ, **given}, capture_output=True, text=True, timeout=120, check=False
    )
