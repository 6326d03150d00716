"""A task that waits for a file, and says when it began."""

import os
import time
from pathlib import Path

from delayhub import delayed_task

FOLDER = Path(os.environ["PATIENCE_DATABASE"]).parent


@delayed_task(biz_type="patience.wait", max_attempts=2)
def wait_for(name: str) -> None:
    """Ends when the file is there; each process that begins makes a file of its own."""
    (FOLDER / f"{name}.began.{os.getpid()}").touch()
    while not (FOLDER / name).exists():
        time.sleep(0.02)
