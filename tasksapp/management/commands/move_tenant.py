"""``manage.py move_tenant CODE FILE``: moves all that a tenant has to another site."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, router

from delayhub.clock import SystemClock
from tasksapp.access.actors import CONSOLE
from tasksapp.errors import MoveFailed
from tasksapp.management.arguments import add_key, read_key, tenant_named
from tasksapp.models import Job
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.transfer.mover import Mover


class Command(BaseCommand):
    """Moves a tenant."""

    help = (
        "Moves a tenant to another site: its callers are asked to come again, what runs ends, all is exported, imported"
        " there and let go here, and opened there. Ended at any step, run it again: it goes on, or back with --back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who moves, by which file, and where."""
        parser.add_argument("tenant", metavar="CODE", help="who moves")
        parser.add_argument("file", help="where the export is written")
        parser.add_argument(
            "--there", required=True, metavar="COMMAND",
            help="what imports there and reads standard input, such as 'ssh c3 manage.py import_jobs - --key move.key'",
        )  # fmt: skip
        parser.add_argument("--to", default="", metavar="URL", help="the other site, which callers are then sent to")
        add_key(parser)
        parser.add_argument("--back", action="store_true", help="undo a move that this site has not let go yet")
        parser.add_argument("--database", help="its alias in DATABASES")

    def handle(self, *args: Any, **options: Any) -> None:
        """Says each step. Raises CommandError where one fails."""
        del args
        key, using = read_key(options["key"]), options["database"] or router.db_for_write(Job)
        mover = Mover(
            tenant_named(options["tenant"], using=using), file=Path(options["file"]),
            there=shlex.split(options["there"]), to=options["to"], key=key, say=self.stdout.write,
            clock=SystemClock(), by=CONSOLE, using=using,
        )  # fmt: skip
        try:
            if options["back"]:
                mover.back()
            else:
                mover.move()
        except (MoveFailed, SecretUnreadable, OSError, DatabaseError, InterfaceError) as error:
            raise CommandError(f"{error}. Run it again: it goes on, or with --back it goes back") from None
