"""What people do without a timeout centre: a Celery task on kombu's Redis transport that posts with requests."""

from __future__ import annotations

import os

import celery
import requests

# Not the current app: jobs of the process that sends the tasks have their timers where the current app has its broker.
app = celery.Celery("baseline", broker=os.environ["BASELINE_BROKER"], set_as_current=False)
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=100, broker_connection_retry_on_startup=True)


@app.task(name="baseline.post")
def post(url: str, body: dict[str, object]) -> None:
    requests.post(url, json=body, timeout=10).raise_for_status()
