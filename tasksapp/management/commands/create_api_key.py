"""``manage.py create_api_key NAME``: issues a key for a caller of the API and shows it once."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasksapp.access.actors import CONSOLE
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey


class Command(BaseCommand):
    """Issues an API key."""

    help = "Issues an API key and prints it; it is not kept and cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """NAME."""
        parser.add_argument("name", help="whose key it is, such as the calling system's name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the key and nothing else, so that it can be piped."""
        del args
        name: str = options["name"].strip()
        if not name:
            raise CommandError("a key needs a name")
        if ApiKey.objects.filter(name=name).exists():
            raise CommandError(f"there is a key named {name!r} already; disable or delete it in the admin first")
        self.stdout.write(issue_key(name, by=CONSOLE).key)
