"""``manage.py reconcile``: compares the timers in Redis with the database, says what differs, and repairs it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from tasksapp.errors import AWAY
from tasksapp.maintenance.reconciler import Reconciler
from tasksapp.management.progress import Progress, counted
from tasksapp.models import Job


class Command(BaseCommand):
    help = "Compare the timers in Redis with overdue rows and those of the near window, say what differs, and mend it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to change anything, and where the rows are."""
        parser.add_argument(
            "--dry-run", action="store_true", help="change nothing; exit code 1 where something differs"
        )
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes a line for each biz type, and whether all is in step now.

        Raises CommandError in a dry run if not, and where Redis does not answer.
        """
        using, dry_run = options["database"] or router.db_for_write(Job), options["dry_run"]
        try:
            reconciler = Reconciler(using=using, mend=not dry_run)
            progress = Progress(self.stderr, total=reconciler.total(), what="rows and timers")
            found = reconciler.run_once(advance=progress.advance)
        except AWAY as error:
            raise CommandError(f"Redis does not answer, run it again when it does: {error}") from None
        progress.end()
        for code, one in found.items():
            rows = "paused or disabled, needs no timers"
            if not one.is_shut:
                rows = f"{counted(one.rows, 'row', 'rows')}, {one.overdue} overdue"
            self.stdout.write(
                f"{code}: {rows}; {counted(one.timers, 'timer', 'timers')}, "
                f"{len(one.missing)} missing, {len(one.late)} late, {len(one.stray)} stray"
            )
        if overdue := sum(one.overdue for one in found.values()):
            self.stdout.write(
                f"{counted(overdue, 'job is', 'jobs are')} overdue:"
                " due jobs go out as fast as workers, rates and open breakers allow; "
                "python manage.py check and celery -A … delayhub check say what else may hold them"
            )
        if all(one.is_none for one in found.values()):
            self.stdout.write("Redis is in step with the database")
        elif dry_run:
            raise CommandError("Redis differs from the database; run it without --dry-run to mend that", returncode=1)
        else:
            self.stdout.write("mended")
