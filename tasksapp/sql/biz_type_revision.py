"""The revision of a biz type's row: a number that every change gives it, also one by SQL or ``QuerySet.update``."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import connections
from django.db.models.expressions import RawSQL

from tasksapp.models import BizType

#: On PostgreSQL the row has one of its own: the transaction that wrote it. Reading it costs nothing.
COLUMN = "xmin::text::bigint"


class Revised(NamedTuple):
    """A biz type, and the revision of its row at that time."""

    biz_type: BizType
    revision: int


def read_biz_types(ids: Collection[int], *, using: str) -> dict[int, Revised]:
    """Biz types as their rows are now, with their tenants, by their ids; those that are gone are left out."""
    rows = BizType.objects.using(using).select_related("tenant").filter(id__in=ids)
    if connections[using].vendor != "postgresql":
        return {biz_type.pk: Revised(biz_type, content_revision(biz_type)) for biz_type in rows}
    column = RawSQL(f"{BizType._meta.db_table}.{COLUMN}", ())  # noqa: S611  our own names
    return {biz_type.pk: Revised(biz_type, biz_type.row_revision) for biz_type in rows.annotate(row_revision=column)}


def content_revision(biz_type: BizType) -> int:
    """The revision where the database has none: a hash of all columns, the same within a process and its forks."""
    return hash(repr([getattr(biz_type, field.attname) for field in BizType._meta.concrete_fields]))
