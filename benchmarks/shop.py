"""What the Celery apps of chaos runs share; they write down what they do in files that outlive a kill -9.

``SHOP_BROKER``, ``SHOP_FOLDER`` (for those files), ``SHOP_RESULTS`` (none where it is not set) and ``SHOP_CONF``
(Celery's settings, as JSON) are in the environment.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import celery

import delayhub
from benchmarks.processes import append_line


def shop(name: str, **settings: Any) -> celery.Celery:
    """An app whose tasks come back where their worker is killed, and whose workers wait for a broker that is away."""
    app = celery.Celery(name, broker=os.environ["SHOP_BROKER"], backend=os.environ.get("SHOP_RESULTS"))
    delayhub.install(app)
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result="SHOP_RESULTS" not in os.environ,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        **settings,
    )
    app.conf.update(json.loads(os.environ.get("SHOP_CONF", "{}")))
    return app


def note(name: str, *words: object) -> None:
    """Appends a line to a file of the run: these words, and the time."""
    now = time.time()  # noqa: TID251  one machine's clock, compared between its processes
    append_line(Path(os.environ["SHOP_FOLDER"]) / name, *words, f"{now:.6f}")


def note_run(task: celery.Task, key: str, seconds: float) -> None:
    """Takes so long; writes down both bounds of the run: what, the task, its key, its id, the retry and the worker."""
    said = task.name, key, task.request.id, task.request.retries, task.request.hostname
    note("runs", "begin", *said)
    time.sleep(seconds)
    note("runs", "end", *said)
