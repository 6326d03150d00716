"""A task that waits for a file and says when it began, and tasks that run into their time limits."""

import os
import time
from pathlib import Path

from celery import shared_task

from delayhub import delayed_task

FOLDER = Path(os.environ["PATIENCE_DATABASE"]).parent


@delayed_task(biz_type="patience.wait", max_attempts=2)
def wait_for(name: str) -> None:
    """Ends when the file is there; each process that begins makes a file of its own."""
    (FOLDER / f"{name}.began.{os.getpid()}").touch()
    while not (FOLDER / name).exists():
        time.sleep(0.02)


@delayed_task(biz_type="patience.stuck", max_attempts=2, time_limit=1)
def stuck() -> None:
    """Never ends by itself."""
    time.sleep(600)


@delayed_task(biz_type="patience.warned", max_attempts=2, soft_time_limit=1)
def warned() -> None:
    """Never ends by itself, and is told so."""
    time.sleep(600)


@shared_task(name="patience.plain", time_limit=1)
def plain() -> None:
    """Never ends by itself, and knows nothing of jobs."""
    time.sleep(600)
