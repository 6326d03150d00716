"""``manage.py probe_worker``: whether a worker on this machine is alive, for containers and service managers."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasksapp.errors import AWAY
from tasksapp.queues.heartbeats import read_workers


class Command(BaseCommand):
    """Exit code 0 where a worker wrote a heartbeat within the last 15 seconds, else 1."""

    help = "Whether a worker on this machine is alive: exit code 0, else 1."
    # It runs every few seconds: the checks of settings are for deployments.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--anywhere``, ``--strict``."""
        parser.add_argument("--anywhere", action="store_true", help="A worker on any machine will do.")
        parser.add_argument("--strict", action="store_true", help="Exit code 1 also where Redis does not answer.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Looks for the heartbeat. Raises CommandError where there is none."""
        try:
            workers = read_workers()
        except AWAY as error:
            if options["strict"]:
                raise CommandError(f"Redis does not answer: {type(error).__name__}") from error
            # A worker waits for Redis by itself, and starting it again would not bring Redis back.
            self.stdout.write(f"Redis does not answer, so heartbeats cannot be read: {type(error).__name__}")
            return
        here = [worker for worker in workers if options["anywhere"] or worker.host == socket.gethostname()]
        if not here:
            raise CommandError("no worker on this machine wrote a heartbeat within the last 15 seconds")
        for worker in here:
            self.stdout.write(f"{worker.name}: alive, {worker.running_count} tasks run")
