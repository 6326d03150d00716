"""Which series there are: by number, by name, and those that a caller sees."""

from __future__ import annotations

from django.db import router
from django.db.models import QuerySet

from tasksapp.biz_types.visible import Reach, reach_of
from tasksapp.errors import SeriesNotFound
from tasksapp.models import Series


def find(series_id: int, *, seen_by: object = None, using: str | None = None) -> Series:
    """The series of that number, with its biz type. Raises SeriesNotFound."""
    row = seen(seen_by, using=using).filter(pk=series_id).first()
    if row is None:
        raise SeriesNotFound(f"there is no series {series_id}")
    return row


def find_by_name(biz_type: str, name: str, *, tenant: str | None = None, using: str | None = None) -> Series:
    """The series of that name, with its biz type. Raises SeriesNotFound or UnknownTenant."""
    using = using or router.db_for_read(Series)
    reach = reach_of(None, tenant=tenant, using=using)
    row = seen(None, using=using).filter(reach.condition("biz_type"), biz_type__code=biz_type, name=name).first()
    if row is None:
        raise SeriesNotFound(f"{biz_type} has no series {name!r}")
    return row


def visible_series(caller: object, *, using: str | None = None) -> QuerySet[Series]:
    """The series that the caller sees, with their biz types."""
    return seen(None, using=using).filter(Reach.of(caller).condition("biz_type"))


def seen(seen_by: object, *, using: str | None = None) -> QuerySet[Series]:
    """The same where a caller of the API asks; all series for people and the project's own code."""
    if seen_by is not None:
        return visible_series(seen_by, using=using)
    return Series.objects.using(using or router.db_for_read(Series)).select_related("biz_type")
