"""The ready-made project's app, in a worker that writes down which of its threads is which: for ``jobs_cost``."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from celery.signals import worker_ready

from delayhub.project import celery_app as app

__all__ = ["app"]


@worker_ready.connect
def _begin(**_: Any) -> None:
    threading.Thread(target=_write_down, args=(Path(os.environ["THREADS_FILE"]),), name="watcher", daemon=True).start()


def _write_down(path: Path) -> None:
    known: dict[str, int] = {}
    while True:
        threads = {thread.name: thread.native_id or 0 for thread in threading.enumerate()}
        if threads != known:
            part = path.with_suffix(".part")
            part.write_text(json.dumps(threads))
            part.replace(path)
            known = threads
        time.sleep(0.2)
