"""``manage.py prune_callbacks --keep-days 40``: forgets callbacks that came longer ago."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from delayhub.receiver.django.once import prune


class Command(BaseCommand):
    """Deletes old rows of the inbox, 1 000 a transaction."""

    help = "Forget callbacks that came longer ago than their jobs can come again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares the options."""
        parser.add_argument(
            "--keep-days",
            type=float,
            required=True,
            help="at least the biz types' max_age (a week, where there is none) and retention together: 7 + 30",
        )
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="which database the inbox is in")

    def handle(self, **options: Any) -> None:
        """Prunes, and says how many rows went. Raises CommandError where so many days cannot be."""
        try:
            pruned = prune(keep=timedelta(days=options["keep_days"]), using=options["database"])
        except (ValueError, OverflowError) as error:
            raise CommandError(f"--keep-days {options['keep_days']:g}: {error}") from None
        self.stdout.write(f"{pruned} callbacks forgotten")
