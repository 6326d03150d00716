"""``manage.py reseal``: encrypts stored secrets again with the newest key, so that an old one can be dropped."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router

from tasksapp.maintenance.resealer import NAMED, Resealer
from tasksapp.management.progress import Progress, counted
from tasksapp.models import Job


class Command(BaseCommand):
    help = (
        "Encrypt the secrets of biz types, series and jobs, and all that is encrypted of jobs, again with the first of"
        " ENCRYPTION_KEYS; and what encrypted biz types have from before. What is encrypted with it already stays as it"
        " is, so after a break run it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether anything is changed, and where."""
        parser.add_argument("--dry-run", action="store_true", help="only say what still needs an old key")
        parser.add_argument("--rate", type=float, help="jobs a second that are changed at most")
        parser.add_argument("--after", type=UUID, help="the id of a job: begin behind it, where a run was broken off")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Encrypts them again, jobs batch by batch. Raises CommandError where no key opens one of them."""
        using = options["database"] or router.db_for_write(Job)
        if options["rate"] is not None and options["rate"] <= 0:
            raise CommandError(f"--rate must be positive, got {options['rate']:g}")
        resealer = Resealer(using=using, dry_run=options["dry_run"], rate=options["rate"])
        resealer.run_biz_types()
        progress = Progress(self.stderr, total=Job.objects.using(using).count(), what="jobs")
        try:
            for looked_at in resealer.run_jobs(after=options["after"]):
                progress.advance(looked_at)
        except KeyboardInterrupt:
            raise CommandError(f"broken off: go on with --after {resealer.last}") from None
        progress.end()
        done = resealer.done
        verb = "need an old key" if options["dry_run"] else "encrypted again"
        said = f"{counted(done.answers, 'answer', 'answers')}, " if done.answers else ""
        self.stdout.write(
            f"{verb}: {counted(done.biz_types, 'secret of a biz type', 'secrets of biz types')},"
            f" {done.series:,} series, {said}{counted(done.jobs, 'job', 'jobs')};"
            f" looked at {counted(progress.done, 'job', 'jobs')}"
        )
        if done.running:
            self.stdout.write(f"{counted(done.running, 'job runs', 'jobs run')} that are to be encrypted: run it again")
        if done.unreadable:
            names, more = ", ".join(done.named), ", …" if done.unreadable > NAMED else ""
            raise CommandError(
                f"{done.unreadable:,} cannot be read with any key, bring the old one back: {names}{more}"
            )
