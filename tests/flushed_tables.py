"""What Django makes again after each flush of the tests' database: content types, permissions, the default tenant.

Making them takes 40 ms, nearly all that a flush costs, and a thousand tests end with a flush. The rows are always the
same, so they are kept from the first flush and stored again after the others.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.core.management.sql import emit_post_migrate_signal
from django.db import connections, models

from tasksapp.admin.frame.job_charts import settled_points
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.models import Tenant

#: In the order in which they refer to each other.
MODELS: tuple[type[models.Model], ...] = (ContentType, Permission, Tenant)

_kept: dict[str, list[tuple[type[models.Model], list[Any]]]] = {}


def fill_flushed_tables(verbosity: int, interactive: bool, db: str, **kwargs: Any) -> None:
    """In the place of ``emit_post_migrate_signal``, which the first flush of each database still sends.

    It does what all who hear that signal do.
    """
    if db not in _kept:
        emit_post_migrate_signal(verbosity, interactive, db, **kwargs)
        _kept[db] = [(model, list(model._default_manager.using(db).order_by("pk"))) for model in MODELS]
        return
    ContentType.objects.clear_cache()
    biz_type_cache.clear()
    settled_points.clear()
    for model, rows in _kept[db]:
        model._default_manager.using(db).bulk_create(rows)
    # A flush may have reset the counters of ids, which rows with ids of their own do not move on.
    with connections[db].cursor() as cursor:
        for statement in connections[db].ops.sequence_reset_sql(no_style(), list(MODELS)):
            cursor.execute(statement)
