"""``manage.py create_api_key NAME``: a key for the REST API."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasksapp.models import ApiKey


class Command(BaseCommand):
    """Makes a key and prints it; it is not shown again."""

    help = "Makes an API key and prints it; it is not shown again. To take a key back, disable it in the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="whose key it is")

    def handle(self, *, name: str, **_: Any) -> None:
        if ApiKey.objects.filter(name=name).exists():
            raise CommandError(f"{name} has a key: delete it in the admin, or choose another name")
        self.stdout.write(ApiKey.objects.issue(name).key)
