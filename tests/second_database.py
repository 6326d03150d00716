"""A second database beside that of the tests, of the same kind."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connection, connections

from tests.django_settings import SHARED
from tests.migrated_database import migrated_name


@contextmanager
def second_database(alias: str, *, folder: Path) -> Iterator[None]:
    """Makes it, with all tables, before tests ask for it, and takes it away.

    Args:
        alias: its name in ``connections``.
        folder: where a file of SQLite's is.
    """
    config = copy.deepcopy(connections.settings["default"])
    name = str(folder / f"{alias}.sqlite3") if connection.vendor == "sqlite" else f"{config['NAME']}_{alias}"
    connections.settings[alias] = {**config, "NAME": name}
    if Path(SHARED, "migrated").exists():
        _copy(name)
    else:
        _run_on_postgresql(f'CREATE DATABASE "{name}"')
        call_command("migrate", database=alias, verbosity=0)
    try:
        yield
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]
        _run_on_postgresql(f'DROP DATABASE "{name}"')


def _copy(name: str) -> None:
    """Of the database that the processes of the run have copies of: to migrate another one costs 2 s of a core."""
    if connection.vendor == "sqlite":
        shutil.copy(migrated_name(), name)
    else:
        _run_on_postgresql(f'CREATE DATABASE "{name}" TEMPLATE "{migrated_name()}"')


def _run_on_postgresql(statement: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement)
