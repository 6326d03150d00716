"""``manage.py watch_alerts``: watches for alerts in a process of its own, for projects whose web processes do not."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from tasksapp.alerts.thread import unwatch, watch


class Command(BaseCommand):
    """Watches until it is stopped."""

    help = "Watch for alerts until Ctrl-C or SIGTERM; web processes and workers do so too."

    def handle(self, *args: Any, **options: Any) -> None:
        """Watches until SIGINT or SIGTERM."""
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        watch()
        self.stdout.write("watching for alerts")
        stopped.wait()
        unwatch()
