"""``manage.py purge_jobs``: deletes jobs that ended longer ago than their biz type wants them kept."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from delayhub.clock import SystemClock
from tasksapp.biz_types.visible import reach_of, visible_biz_types
from tasksapp.errors import UnknownTenant
from tasksapp.maintenance.purger import Purger
from tasksapp.management.progress import Progress, counted
from tasksapp.models import Job
from tasksapp.sql.purge_rows import Purged


class Command(BaseCommand):
    help = "Delete jobs that ended longer ago than their biz type's retention, expired idempotency keys and old audit."

    def add_arguments(self, parser: CommandParser) -> None:
        """What may be deleted, and where."""
        parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
        parser.add_argument("--biz-type", action="append", metavar="CODE", help="only this one's jobs; may be repeated")
        parser.add_argument("--tenant", metavar="CODE", help="only the jobs of this one's biz types")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Counts what is old enough, and deletes it in batches unless this is a dry run."""
        using = options["database"] or router.db_for_write(Job)
        only = _chosen(options["biz_type"], tenant=options["tenant"], using=using)
        purger = Purger(using=using, clock=SystemClock(), only=only)
        counts = purger.count()
        total = sum(counts.values(), start=Purged())
        if options["dry_run"]:
            for code, count in counts.items():
                if code:
                    self.stdout.write(f"{code}: {_jobs_in_words(count)}")
            self.stdout.write(f"would delete {_in_words(total)}")
            return
        progress = Progress(self.stderr, total=total.jobs + total.keys + total.entries, what="rows")
        gone = Purged()
        for batch in purger.batches():
            gone += batch
            progress.advance(batch.jobs + batch.keys + batch.entries)
        progress.end()
        self.stdout.write(f"deleted {_in_words(gone)}")


def _chosen(codes: list[str] | None, *, tenant: str | None, using: str) -> list[int] | None:
    """The ids of the biz types whose jobs are purged; None for all, and keys and audit with them."""
    if codes is None and tenant is None:
        return None
    try:
        reach = reach_of(None, tenant=tenant, using=using)
    except UnknownTenant as error:
        raise CommandError(str(error)) from error
    known = dict(visible_biz_types(reach, using=using).values_list("code", "id"))
    if unknown := sorted(set(codes or ()) - known.keys()):
        raise CommandError(f"there is no biz type {', '.join(unknown)}")
    return [known[code] for code in (known if codes is None else codes)]


def _in_words(count: Purged) -> str:
    entries = counted(count.entries, "entry of the audit", "entries of the audit")
    keys = counted(count.keys, "idempotency key", "idempotency keys")
    return f"{_jobs_in_words(count)}, {keys}{f', {entries}' if count.entries else ''}"


def _jobs_in_words(count: Purged) -> str:
    return f"{counted(count.jobs, 'job', 'jobs')}, {counted(count.attempts, 'attempt', 'attempts')}"
