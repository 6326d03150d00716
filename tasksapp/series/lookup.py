"""Which series there are: by number, by name, and those that a caller sees."""

from __future__ import annotations

from django.db import router
from django.db.models import QuerySet

from tasksapp.biz_types.visible import Reach, reach_of
from tasksapp.errors import SeriesNotFound
from tasksapp.models import Series


def find(series_id: int, *, seen_by: object = None, using: str | None = None) -> Series:
    """The series of that number, with its biz type. Raises SeriesNotFound."""
    rows = visible_series(seen_by, using=using or router.db_for_read(Series)) if seen_by is not None else None
    if rows is None:
        rows = Series.objects.using(using or router.db_for_read(Series)).select_related("biz_type")
    row = rows.filter(pk=series_id).first()
    if row is None:
        raise SeriesNotFound(f"there is no series {series_id}")
    return row


def find_by_name(biz_type: str, name: str, *, tenant: str | None = None, using: str | None = None) -> Series:
    """The series of that name, with its biz type. Raises SeriesNotFound or UnknownTenant."""
    using = using or router.db_for_read(Series)
    reach = reach_of(None, tenant=tenant, using=using)
    rows = Series.objects.using(using).select_related("biz_type").filter(reach.condition("biz_type"))
    row = rows.filter(biz_type__code=biz_type, name=name).first()
    if row is None:
        raise SeriesNotFound(f"{biz_type} has no series {name!r}")
    return row


def visible_series(caller: object, *, using: str | None = None) -> QuerySet[Series]:
    """The series that the caller sees, with their biz types."""
    rows = Series.objects.using(using or router.db_for_read(Series)).select_related("biz_type")
    return rows.filter(Reach.of(caller).condition("biz_type"))
