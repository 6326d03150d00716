"""``manage.py export_jobs``: prints all that a tenant has, as lines of JSON that ``import_jobs`` takes in elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router

from tasksapp.management.arguments import add_key, add_tenant, read_key, tenant_named
from tasksapp.management.progress import Progress, counted
from tasksapp.models import Job
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.transfer.exporter import Exporter


class Command(BaseCommand):
    """Exports a tenant."""

    help = (
        "Prints a tenant's biz types, API keys (their hashes), series, paused and resolved keys, and all jobs that are"
        " pending, running or dead, as lines of JSON, all of one moment. Jobs that have ended otherwise, attempts and"
        " the audit are not in it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--tenant``, what becomes of secrets, and where."""
        add_tenant(parser)
        add_key(parser)
        parser.add_argument("--without-secrets", action="store_true", help="leave secrets out, instead of --key")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the lines and nothing else. Raises CommandError where secrets would be left out unasked."""
        del args
        key, using = read_key(options["key"]), options["database"] or router.db_for_write(Job)
        exporter = Exporter(tenant_named(options["tenant"], using=using), key=key, using=using)
        progress = Progress(self.stderr, total=exporter.total(), what="rows")
        try:
            for line in exporter.lines():
                if key.left_out and not options["without_secrets"]:
                    raise CommandError("there are secrets: give --key, or --without-secrets to leave them out")
                if key.rows_left_out:
                    raise CommandError("there are jobs or series that are encrypted at rest: give --key")
                self.stdout.write(line, ending="")
                progress.advance(1)
        except SecretUnreadable as error:
            raise CommandError(str(error)) from None
        progress.end()
        if key.left_out:
            said = counted(key.left_out, "secret was left out: set it", "secrets were left out: set them")
            self.stderr.write(f"{said} again where it is imported")
