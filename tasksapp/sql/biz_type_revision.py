"""The revision of a biz type's row: a number that every change gives it, also one by SQL or ``QuerySet.update``."""

from __future__ import annotations

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


def read_biz_type(biz_type_id: int, *, using: str) -> Revised:
    """The biz type as its row is now, with its tenant. Raises BizType.DoesNotExist."""
    rows = BizType.objects.using(using).select_related("tenant")
    if connections[using].vendor != "postgresql":
        biz_type = rows.get(id=biz_type_id)
        return Revised(biz_type, content_revision(biz_type))
    column = RawSQL(f"{BizType._meta.db_table}.{COLUMN}", ())  # noqa: S611  our own names
    biz_type = rows.annotate(row_revision=column).get(id=biz_type_id)
    return Revised(biz_type, biz_type.row_revision)


def content_revision(biz_type: BizType) -> int:
    """The revision where the database has none: a hash of all columns, the same within a process and its forks."""
    return hash(repr([getattr(biz_type, field.attname) for field in BizType._meta.concrete_fields]))
