"""Copies of the tests' database, for tests of migrations: to copy it takes milliseconds, to migrate it seconds."""

from __future__ import annotations

import shutil
from collections.abc import Hashable
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from tests.postgres import postgres_url


class SavedDatabases:
    """The default database as it was at several moments; the copies are dropped when the ``with`` block ends."""

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._names.values():
            _drop(connection, name)
        self._names.clear()

    def __contains__(self, moment: Hashable) -> bool:
        return moment in self._names

    def save(self, moment: Hashable) -> None:
        """Keeps what the database has now."""
        name = f"{connection.settings_dict['NAME']}_saved{len(self._names)}"
        _copy(connection, str(connection.settings_dict["NAME"]), name)
        self._names[moment] = name

    def load(self, moment: Hashable) -> None:
        """Makes the database what it was at that moment."""
        _copy(connection, self._names[moment], str(connection.settings_dict["NAME"]))


def _copy(database: BaseDatabaseWrapper, source: str, target: str) -> None:
    database.close()  # a database is copied while it is closed
    _drop(database, target)
    if database.vendor == "sqlite":
        shutil.copy(source, target)
    else:
        _ask_server("CREATE DATABASE {} TEMPLATE {}", target, source)


def _drop(database: BaseDatabaseWrapper, name: str) -> None:
    if database.vendor == "sqlite":
        for path in (name, f"{name}-wal", f"{name}-shm"):
            Path(path).unlink(missing_ok=True)
    else:
        _ask_server("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _ask_server(statement: str, *names: str) -> None:
    server, _, _ = postgres_url().rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as opened:
        opened.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
