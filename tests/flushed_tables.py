"""Quick flushes of the tests' database, with which a thousand tests end.

Content types, permissions, the default tenant and groups are made by migrations, and by what hears that a database was
migrated. That takes 40 ms, and they are always the same: they stay, and are stored again only where a test has changed
them. On PostgreSQL,
rows are deleted: TRUNCATE gives each table and each index a new file, which takes 40 ms of a core.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import Style, no_style
from django.core.management.sql import emit_post_migrate_signal, sql_flush
from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from tasksapp.admin.frame.job_charts import settled_points
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.models import Tenant

#: In the order in which they refer to each other.
MODELS: tuple[type[models.Model], ...] = (ContentType, Permission, Tenant, Group, Group.permissions.through)

#: For the rest of a transaction no trigger looks for rows that refer to a deleted one, where the user may say so.
NO_TRIGGERS = (
    "SELECT set_config('session_replication_role', 'replica', true) WHERE current_setting('is_superuser') = 'on'"
)

_kept: dict[str, list[tuple[type[models.Model], list[Any], list[Any]]]] = {}


def keep_rows(db: str) -> None:
    """Keeps what a fresh database has, for the flushes to come."""
    _kept[db] = [(model, list(_rows(model, db)), list(_rows(model, db).values_list())) for model in MODELS]


def flush_all_others(
    style: Style, connection: BaseDatabaseWrapper, reset_sequences: bool = True, allow_cascade: bool = False
) -> list[str]:
    """In the place of ``sql_flush``: rows of the tables that are kept stay."""
    if connection.alias not in _kept or reset_sequences or allow_cascade:
        return sql_flush(style, connection, reset_sequences, allow_cascade)
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    others = sorted(tables - {model._meta.db_table for model in MODELS})
    if connection.vendor != "postgresql":
        return connection.ops.sql_flush(style, others)
    deletes = [f"DELETE FROM {connection.ops.quote_name(table)}" for table in others]
    return ["; ".join([NO_TRIGGERS, *deletes])]


def fill_flushed_tables(verbosity: int, interactive: bool, db: str, **kwargs: Any) -> None:
    """In the place of ``emit_post_migrate_signal``, which the first flush of each database still sends.

    It does what all who hear that signal do.
    """
    if db not in _kept:
        emit_post_migrate_signal(verbosity, interactive, db, **kwargs)
        keep_rows(db)
        return
    ContentType.objects.clear_cache()
    biz_type_cache.clear()
    settled_points.clear()
    if all(list(_rows(model, db).values_list()) == values for model, _, values in _kept[db]):
        return
    for model in reversed(MODELS):
        _rows(model, db).delete()
    for model, rows, _ in _kept[db]:
        model._default_manager.using(db).bulk_create(rows)
    # A flush may have reset the counters of ids, which rows with ids of their own do not move on.
    with connections[db].cursor() as cursor:
        for statement in connections[db].ops.sequence_reset_sql(no_style(), list(MODELS)):
            cursor.execute(statement)


def _rows(model: type[models.Model], db: str) -> models.QuerySet[Any]:
    return model._default_manager.using(db).order_by("pk")
