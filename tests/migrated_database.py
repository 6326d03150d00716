"""One migrated database for all processes of a run: the first that needs it migrates it, each works on a copy.

Migrating costs a process 2 s of a core, a copy some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.files import locks
from django.db import connection
from django.db.backends.base.creation import BaseDatabaseCreation

from tests.django_settings import SHARED, TEST_DATABASE
from tests.postgres import postgres_url

POSTGRESQL_NAME = "test_delayhub_migrated"


def copies_of_one_migration(creation: BaseDatabaseCreation, *, process: str) -> Callable[..., str]:
    """Gives what stands in the place of ``creation.create_test_db`` in a process of that name.

    It gives the name of the copy, which Django drops at the end as it drops a test database.
    """
    create_test_db = creation.create_test_db

    def create_copy(verbosity: int = 1, **options: bool) -> str:
        SHARED.mkdir(parents=True, exist_ok=True)
        with Path(SHARED, "migrated.lock").open("w") as lock:
            locks.lock(lock, locks.LOCK_EX)
            made = Path(SHARED, "migrated")
            test = connection.settings_dict["TEST"]
            test["NAME"] = migrated_name()
            if made.exists():
                connection.close()
                connection.settings_dict["NAME"] = test["NAME"]
            else:
                create_test_db(verbosity=verbosity, **options)
                connection.close()  # a database is copied while it is closed
                made.touch()
            creation.clone_test_db(process, verbosity=verbosity)
        name = str(creation.get_test_db_clone_settings(process)["NAME"])
        settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = name
        connection.ensure_connection()
        return name

    return create_copy


def migrated_name() -> str:
    """The name of the database that is copied."""
    return str(SHARED / "migrated.sqlite3") if connection.vendor == "sqlite" else POSTGRESQL_NAME


def drop_migrated_database() -> None:
    """Drops the database that was copied, where a server keeps it; a file ends with its folder."""
    if Path(SHARED, "migrated").exists() and TEST_DATABASE == "postgresql":
        server, _, _ = postgres_url().rpartition("/")
        with psycopg.connect(f"{server}/postgres", autocommit=True) as opened:
            opened.execute(f"DROP DATABASE IF EXISTS {POSTGRESQL_NAME}")
