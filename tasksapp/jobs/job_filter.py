"""JobFilter: which jobs are meant, by what a person or a caller can say about jobs.

The list of jobs in the admin, operations and the API share it: what a page shows is what an operation acts on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from tasksapp.biz_types.visible import labelled
from tasksapp.errors import InvalidJob
from tasksapp.jobs.validation import utc_moment
from tasksapp.models import Job, Status
from tasksapp.models.columns import is_code
from tasksapp.sql.begins_with import BeginsWith

#: Ids that one filter may name.
MOST_IDS = 1_000
#: Columns of times, and what the two ends of their ranges are called.
_RANGES = (("due_at", "due"), ("next_run_at", "next"), ("finished_at", "ended"), ("occurrence_at", "occurrence"))


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFilter:
    """Jobs for which everything holds that is given here.

    Args:
        status: where they stand; None for any.
        biz_type: the label of their biz type, which is its code in the default tenant; '' for any.
        error_class: the kind of their last error; '' for any.
        biz_id: their whole business key, or the beginning of it with ``*`` behind; '' for any.
        flow_key: their whole flow key; '' for any.
        ids: their ids, ``MOST_IDS`` at most; empty for any.
        due_from, due_until: when they were due; the first is part of the range, the second is not.
        next_from, next_until: when they run next.
        ended_from, ended_until: when they ended.
        operation: the operation that last changed them.
        series: the number of the series that they are of.
        occurrence_from, occurrence_until: which of its series they are, as the ranges of times above.
    """

    status: Status | None = None
    biz_type: str = ""
    error_class: str = ""
    biz_id: str = ""
    flow_key: str = ""
    ids: tuple[UUID, ...] = ()
    due_from: datetime | None = None
    due_until: datetime | None = None
    next_from: datetime | None = None
    next_until: datetime | None = None
    ended_from: datetime | None = None
    ended_until: datetime | None = None
    operation: int | None = None
    series: int | None = None
    occurrence_from: datetime | None = None
    occurrence_until: datetime | None = None

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> JobFilter:
        """The filter that :meth:`as_dict` wrote, or that a caller or an address gives; empty values do not count.

        Raises InvalidJob where a name or a value is not valid.
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(given) - known):
            raise InvalidJob(unknown[0], "unknown", _("there is no filter %(name)r") % {"name": unknown[0]})
        return cls(**{name: _read(name, value) for name, value in given.items() if value not in (None, "", [], ())})

    def as_dict(self) -> dict[str, Any]:
        """What is given, as JSON has it."""
        return {field.name: _written(value) for field in fields(self) if (value := getattr(self, field.name))}

    def apply(self, rows: QuerySet[Job]) -> QuerySet[Job]:
        """Those of the rows that are meant."""
        return rows.filter(self._condition())

    def _condition(self) -> Q:
        found = Q()
        if self.status:
            found &= Q(status=self.status)
        if self.biz_type:
            found &= labelled(self.biz_type, path="biz_type")
        if self.error_class:
            found &= Q(error_class=self.error_class)
        if self.biz_id.endswith("*"):
            found &= Q(BeginsWith("biz_id", self.biz_id[:-1]))
        elif self.biz_id:
            found &= Q(biz_id=self.biz_id)
        if self.flow_key:
            # The index of flow keys has no jobs that run, so PostgreSQL looks for those in another one.
            found &= Q(flow_key=self.flow_key) & (Q(status=Status.RUNNING) | ~Q(status=Status.RUNNING))
        if self.ids:
            found &= Q(id__in=self.ids)
        if self.operation is not None:
            found &= Q(operation_id=self.operation)
        if self.series is not None:
            found &= Q(series_id=self.series)
        for column, name in _RANGES:
            if (begin := getattr(self, f"{name}_from")) is not None:
                found &= Q(**{f"{column}__gte": begin})
            if (end := getattr(self, f"{name}_until")) is not None:
                found &= Q(**{f"{column}__lt": end})
        return found


def _read(name: str, value: Any) -> Any:
    if name == "status":
        if value not in Status.values:
            raise InvalidJob(name, "invalid", _("there is no status %(value)r") % {"value": value})
        return Status(value)
    if name == "ids":
        return _read_ids(value)
    if name in {"operation", "series"}:
        return _read_number(name, value)
    if name in {"biz_type", "error_class", "biz_id", "flow_key"}:
        return _read_text(name, value)
    return _read_time(name, value)


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or len(value) > 201 or (name == "biz_type" and not _is_label(value)):
        raise InvalidJob(name, "invalid", _("%(value)r cannot be a %(name)s") % {"value": value, "name": name})
    return value


def _is_label(value: str) -> bool:
    return value.count("/") <= 1 and all(is_code(part) for part in value.split("/"))


def _read_ids(value: Any) -> tuple[UUID, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or len(given) > MOST_IDS:
        raise InvalidJob("ids", "invalid", _("give a list of %(most)d ids at most") % {"most": MOST_IDS})
    try:
        return tuple(UUID(str(one)) for one in given)
    except ValueError:
        raise InvalidJob("ids", "invalid", _("one of these is not a job id")) from None


def _read_number(name: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 < number < 2**63:
        raise InvalidJob(name, "invalid", _("%(value)r is not a number") % {"value": value})
    return number


def _read_time(name: str, value: Any) -> datetime:
    try:
        time = value if isinstance(value, datetime) else parse_datetime(str(value))
        if time is not None and time.tzinfo is not None:
            return utc_moment(time)
    except (ValueError, OverflowError):
        pass
    raise InvalidJob(name, "invalid", _("%(value)r is not a time with a zone") % {"value": value})


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [str(one) for one in value]
    return value if isinstance(value, int) else str(value)
