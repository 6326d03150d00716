"""``manage.py import_jobs FILE``: takes in what ``export_jobs`` wrote on another site."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router, transaction

from tasksapp.access.actors import CONSOLE
from tasksapp.access.quotas import Quota
from tasksapp.errors import InvalidExport, TenantChanged
from tasksapp.management.arguments import add_key, read_key
from tasksapp.management.progress import Progress, counted
from tasksapp.models import Job, Tenant
from tasksapp.models.columns import is_code
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.tenant import MOST_LIMIT
from tasksapp.transfer.departure import Departure
from tasksapp.transfer.export_file import ExportFile
from tasksapp.transfer.importer import NAMED, Imported, Importer


class Command(BaseCommand):
    """Imports a tenant."""

    help = (
        "Takes in what export_jobs wrote. What is there already stays as it is, so that it can be run again after a"
        " break. A job that ran when it was exported is tried again, or dead where it may be tried once only."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """FILE, whose it becomes, and how."""
        parser.add_argument("file", help="the export; - reads it from standard input")
        parser.add_argument("--tenant", metavar="CODE", help="whose it becomes, made if missing; without: as exported")
        add_key(parser)
        steps = parser.add_mutually_exclusive_group()
        steps.add_argument("--paused", action="store_true", help="what is new waits: no job of it begins before --open")
        steps.add_argument("--open", action="store_true", help="let go what was imported with --paused; store nothing")
        steps.add_argument("--undo", action="store_true", help="take away what was imported with --paused")
        parser.add_argument("--dry-run", action="store_true", help="look through the file and store nothing")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Says what was taken in. Raises CommandError where something was not."""
        del args
        using = options["database"] or router.db_for_write(Job)
        key = read_key(options["key"])
        with ExitStack() as stack:
            try:
                export = ExportFile(_opened(options["file"], stack))
                if options["dry_run"]:
                    self.stdout.write(f"whole: {_in_words(export.counts)}. This was a dry run: nothing is stored.")
                    return
                tenant = _tenant(options["tenant"] or export.head["tenant"], export.head, using=using)
                importer = Importer(export, tenant, key=key, paused=options["paused"], by=CONSOLE, using=using)
                if options["open"]:
                    importer.open()
                    self.stdout.write(f"open: {_in_words(importer.done.new)}")
                    return
                if options["undo"]:
                    Departure(tenant, by=CONSOLE, using=using).undo()
                    self.stdout.write("taken away")
                    return
                progress = Progress(self.stderr, total=export.counts.total(), what="rows")
                for looked_at in importer.run():
                    progress.advance(looked_at)
                progress.end()
            except (InvalidExport, SecretUnreadable, TenantChanged, OSError) as error:
                raise CommandError(f"{options['file']}: {error}") from None
        self._say(importer.done)

    def _say(self, done: Imported) -> None:
        self.stdout.write(f"new: {_in_words(done.new)}")
        if done.there.total():
            self.stdout.write(f"there already: {_in_words(done.there)}")
        for code in done.different:
            self.stdout.write(f"{code}: there already, defined otherwise; it stays as it is")
        if done.refused:
            more = "\n…" if done.refused > NAMED else ""
            named = "\n".join(done.named)
            raise CommandError(f"{counted(done.refused, 'row was', 'rows were')} left out:\n{named}{more}")


def _opened(file: str, stack: ExitStack) -> IO[bytes]:
    """The file, to be read more than once."""
    if file != "-":
        return stack.enter_context(Path(file).open("rb"))
    spooled: IO[bytes] = stack.enter_context(TemporaryFile())  # noqa: SIM115  the stack closes it
    shutil.copyfileobj(sys.stdin.buffer, spooled)
    return spooled


def _tenant(code: str, head: dict[str, Any], *, using: str) -> Tenant:
    if not is_code(code):
        raise InvalidExport(f"no tenant can have the code {code!r:.100}")
    made = {"name": str(head.get("name", "")), **_quotas(head)}
    with transaction.atomic(using=using):
        tenant, _ = Tenant.objects.using(using).get_or_create(code=code, defaults=made)
    return tenant


def _quotas(head: dict[str, Any]) -> dict[str, int]:
    """The columns of the limits that the tenant had where it was exported; an earlier release wrote none."""
    limits = head.get("quotas", {})
    if not isinstance(limits, dict) or not all(type(one) is int and 0 <= one <= MOST_LIMIT for one in limits.values()):
        raise InvalidExport("the quotas of its tenant are no numbers")
    return {f"most_{quota}": limits[quota] for quota in Quota if quota in limits}


def _in_words(counts: dict[str, int]) -> str:
    words = {
        "biz_type": ("biz type", "biz types"), "api_key": ("API key", "API keys"), "series": ("series", "series"),
        "paused_key": ("paused flow key", "paused flow keys"), "tombstone": ("resolved biz id", "resolved biz ids"),
        "idempotency_key": ("idempotency key", "idempotency keys"), "job": ("job", "jobs"),
    }  # fmt: skip
    return ", ".join(counted(count, *words[kind]) for kind, count in counts.items() if count) or "nothing"
