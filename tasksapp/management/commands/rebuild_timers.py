"""``manage.py rebuild_timers``: makes every timer of the near window again, from the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import router
from django.utils import timezone

from tasksapp.conf import options as current_options
from tasksapp.maintenance.loader import Loader
from tasksapp.management.progress import Progress
from tasksapp.models import Job, Status


class Command(BaseCommand):
    help = "Make every timer of the near window again, from the database; those that are there stay as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where the rows are."""
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Loads the window with a progress bar. Loaders that run meanwhile do no harm."""
        using = options["database"] or router.db_for_write(Job)
        until = timezone.now() + current_options().near_window
        total = Job.objects.using(using).filter(status=Status.PENDING, next_run_at__lte=until).count()
        progress = Progress(self.stderr, total=total, what="timers")
        loaded = Loader(using=using).reload(advance=progress.advance)
        progress.end()
        self.stdout.write(f"ensured {loaded} timers")
