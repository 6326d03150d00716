"""``manage.py sync_series``: stores the series that tasks declare in code, and lists what it changed."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from celery import current_app
from django.core.management.base import BaseCommand, CommandError

from delayhub.celery_support.delayed_task import DelayedTask
from tasksapp.access.actors import CONSOLE
from tasksapp.errors import JobError
from tasksapp.task_backends.declared_series import sync

_WORDS = {"create": "new", "change": "changed", "delete": "deleted: no task declares it", "same": "the same"}


class Command(BaseCommand):
    """Brings declared series in step."""

    help = "Makes, changes and deletes series as @delayed_task(cron=…) and every= in code say. Run it at each deploy."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--dry-run``."""
        parser.add_argument("--dry-run", action="store_true", help="list the differences and store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Lists what was done, or would be. Raises CommandError where a declaration cannot be."""
        del args
        current_app.loader.import_default_modules()
        tasks = [task for task in current_app.tasks.values() if isinstance(task, DelayedTask)]
        try:
            steps = sync(tasks, dry_run=options["dry_run"], by=CONSOLE)
        except JobError as error:
            raise CommandError(str(error)) from None
        for step in steps:
            self.stdout.write(f"{step.task}: {_WORDS[step.action]}")
        if not steps:
            self.stdout.write("No task declares a series.")
        if options["dry_run"]:
            self.stdout.write("This was a dry run: nothing is stored.")
