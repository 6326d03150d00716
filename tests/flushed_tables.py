"""Quick ends of tests of several transactions, of which there are more than a thousand.

Content types, permissions, the default tenant and groups are made by migrations, and by what hears that a database was
migrated. That takes 40 ms, and they are always the same: they stay, and are stored again only where a test has changed
them. On PostgreSQL, rows are deleted: TRUNCATE gives each table and each index a new file, which takes 40 ms of a core.
Connections stay open, as clean as new ones: to close the last one of an SQLite file, and to let another process of
PostgreSQL learn about all tables, costs more than all deletes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import Error, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import atomic
from django.test import TransactionTestCase

from tasksapp.admin.frame.job_charts import settled_points
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.models import Tenant

#: In the order in which they refer to each other.
MODELS: tuple[type[models.Model], ...] = (ContentType, Permission, Tenant, Group, Group.permissions.through)
TABLES = [model._meta.db_table for model in MODELS]

#: For the rest of a transaction no trigger looks for rows that refer to a deleted one, where the user may say so.
NO_TRIGGERS = (
    "SELECT set_config('session_replication_role', 'replica', true) WHERE current_setting('is_superuser') = 'on'"
)


class Kept(NamedTuple):
    """What a table has in a fresh database: its rows, and what a look at it shows."""

    model: type[models.Model]
    rows: list[models.Model]
    stored: list[Any]


#: By database, in the order of the models.
_kept: dict[str, list[Kept]] = {}


def keep_rows(db: str) -> None:
    """Keeps what a fresh database has, for the flushes to come."""
    _kept[db] = [
        Kept(model, list(model._default_manager.using(db).order_by("pk")), stored)
        for model, stored in zip(MODELS, _stored(db), strict=True)
    ]


def flush_quickly(case: TransactionTestCase) -> None:
    """In the place of ``TransactionTestCase._fixture_teardown``; the first flush of each database is Django's own."""
    for db in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]  # the stubs do not have it
        if db not in _kept:
            call_command("flush", verbosity=0, interactive=False, database=db, reset_sequences=False)
            keep_rows(db)
            continue
        connections[db].ops.execute_sql_flush(_deletes(connections[db]))
        ContentType.objects.clear_cache()
        biz_type_cache.clear()
        settled_points.clear()
        changed = [kept for kept, stored in zip(_kept[db], _stored(db), strict=True) if kept.stored != stored]
        if changed:
            _store_again(db, changed)


def needs_other_connections(case: TransactionTestCase) -> bool:
    """In the place of ``TransactionTestCase._should_reload_connections``: of those that the test may ask."""
    own = case._databases_names(include_mirrors=False)  # type: ignore[attr-defined]  # Django's own flush asks it too
    opened = connections.all(initialized_only=True)
    return not all(_is_as_new(connection) for connection in opened if connection.alias in own)


def _is_as_new(connection: BaseDatabaseWrapper) -> bool:
    """Whether the next test finds a connection as it would be if it were opened now."""
    if connection.connection is None:
        return True
    if connection.in_atomic_block or connection.errors_occurred or connection.run_on_commit:
        return False
    try:
        if not connection.get_autocommit():
            return False
        if connection.vendor == "postgresql":  # SQLite has nothing that a session sets or holds
            with connection.cursor() as cursor:
                cursor.execute("DISCARD ALL")
            connection.init_connection_state()
    except Error:
        return False
    return True


def _deletes(connection: BaseDatabaseWrapper) -> list[str]:
    """What empties the tables of which no row is kept."""
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    others = sorted(tables.difference(TABLES))
    if connection.vendor != "postgresql":
        return connection.ops.sql_flush(no_style(), others)
    deletes = [f"DELETE FROM {connection.ops.quote_name(table)}" for table in others]
    return ["; ".join([NO_TRIGGERS, *deletes])]


def _stored(db: str) -> list[Any]:
    """All rows of the tables of which rows are kept."""
    found = []
    with connections[db].cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table} ORDER BY id")
            found.append(cursor.fetchall())
    return found


def _store_again(db: str, changed: list[Kept]) -> None:
    """Brings the kept rows of these tables back, and none beside them."""
    with atomic(using=db), connections[db].cursor() as cursor:
        for kept in reversed(changed):
            cursor.execute(f"DELETE FROM {kept.model._meta.db_table}")
        for kept in changed:
            kept.model._default_manager.using(db).bulk_create(kept.rows)
        # A flush may have reset the counters of ids, which rows with ids of their own do not move on.
        for statement in connections[db].ops.sequence_reset_sql(no_style(), [kept.model for kept in changed]):
            cursor.execute(statement)
