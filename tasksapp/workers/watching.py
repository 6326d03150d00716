"""Watching for alerts in the main process of a worker, which leaves that to web processes where there are any."""

from __future__ import annotations

import threading
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from tasksapp.alerts.thread import unwatch, watch


@worker_ready.connect(dispatch_uid="tasksapp.workers.watching")
def watch_in_worker(sender: Any = None, **_: Any) -> None:
    """Begins to watch; not with a pool of greenlets, where a database that hangs would hold all of them."""
    if not sender.pool.is_green:
        watch(is_worker=True)


@worker_shutting_down.connect(dispatch_uid="tasksapp.workers.watching")
def stop_watching(**_: Any) -> None:
    """Leaves the seat to another process, in a thread, since this is a signal handler, which must not wait."""
    threading.Thread(target=unwatch, name="delayhub-alerts-stop", daemon=True).start()
