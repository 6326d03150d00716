"""``manage.py create_api_key NAME``: a key for the REST API."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasksapp import api_keys


class Command(BaseCommand):
    """Makes a key and prints it; it is not shown again."""

    help = "Makes an API key and prints it, once. A name that has a key gets a new one; the old one ends."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="whose key it is")
        parser.add_argument(
            "--variable", help="take the key from this environment variable instead of making one", metavar="NAME"
        )

    def handle(self, *, name: str, variable: str | None, **_: Any) -> None:
        given = os.environ.get(variable) if variable else None
        if variable and not given:
            raise CommandError(f"the environment variable {variable} is not set")
        try:
            key = api_keys.issue(name, key=given)
        except ValueError as error:
            raise CommandError(str(error)) from error
        if not given:
            self.stdout.write(key)
