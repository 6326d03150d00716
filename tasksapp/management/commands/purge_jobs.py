"""``manage.py purge_jobs``: deletes jobs that ended longer ago than their biz type wants them kept."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from delayhub.clock import SystemClock
from tasksapp.maintenance.purger import Purger
from tasksapp.management.progress import Progress
from tasksapp.models import BizType, Job
from tasksapp.sql.purge_rows import Purged


class Command(BaseCommand):
    help = "Delete jobs that ended longer ago than their biz type's retention, expired idempotency keys and old audit."

    def add_arguments(self, parser: CommandParser) -> None:
        """What may be deleted, and where."""
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
        parser.add_argument("--biz-type", action="append", metavar="CODE", help="only this one's jobs; may be repeated")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Counts what is old enough, and deletes it in batches unless this is a dry run."""
        using = options["database"] or router.db_for_write(Job)
        codes = options["biz_type"]
        known = set(BizType.objects.using(using).values_list("code", flat=True))
        if unknown := sorted(set(codes or ()) - known):
            raise CommandError(f"there is no biz type {', '.join(unknown)}")
        purger = Purger(using=using, clock=SystemClock(), codes=codes)
        counts = purger.count()
        total = sum(counts.values(), start=Purged())
        if options["dry_run"]:
            for code, count in counts.items():
                if code:
                    self.stdout.write(f"{code}: {count.jobs} jobs, {count.attempts} attempts")
            self.stdout.write(f"would delete {_in_words(total)}")
            return
        progress = Progress(self.stderr, total=total.jobs + total.keys + total.entries, what="rows")
        gone = Purged()
        for batch in purger.batches():
            gone += batch
            progress.advance(batch.jobs + batch.keys + batch.entries)
        progress.end()
        self.stdout.write(f"deleted {_in_words(gone)}")


def _in_words(count: Purged) -> str:
    audit = f", {count.entries} entries of the audit" if count.entries else ""
    return f"{count.jobs} jobs, {count.attempts} attempts, {count.keys} idempotency keys{audit}"
