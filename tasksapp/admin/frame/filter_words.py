"""A filter of jobs in words for people, and as the query of an address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import Operation, Series
from tasksapp.models.error_class import error_class_label

#: The ranges of time that a filter may have.
_TIMES: dict[str, Promise] = {
    "due_from": gettext_lazy("due at %(time)s or later"),
    "due_until": gettext_lazy("due before %(time)s"),
    "next_from": gettext_lazy("next run at %(time)s or later"),
    "next_until": gettext_lazy("next run before %(time)s"),
    "ended_from": gettext_lazy("ended at %(time)s or later"),
    "ended_until": gettext_lazy("ended before %(time)s"),
    "occurrence_from": gettext_lazy("occurrence at %(time)s or later"),
    "occurrence_until": gettext_lazy("occurrence before %(time)s"),
}


def series_names(filters: Iterable[JobFilter]) -> dict[int, str]:
    """The names of the series that the filters are for, by number: one query, none where no filter has one."""
    wanted = {each.series for each in filters if each.series is not None}
    return dict(Series.objects.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}


def filter_words(job_filter: JobFilter, *, series: Mapping[int, str] | None = None) -> dict[str, str]:
    """What must hold of a job, by the name of each condition a phrase; biz type and status are for the title.

    Args:
        job_filter: the filter.
        series: the names of series, where :func:`series_names` has read them for several filters.
    """
    found: dict[str, str] = {}
    if job_filter.error_class:
        found["error_class"] = _("last error: %(error)s") % {"error": error_class_label(job_filter.error_class)}
    if job_filter.biz_id.endswith("*"):
        found["biz_id"] = _("biz id begins with “%(biz_id)s”") % {"biz_id": job_filter.biz_id[:-1]}
    elif job_filter.biz_id:
        found["biz_id"] = _("biz id is “%(biz_id)s”") % {"biz_id": job_filter.biz_id}
    if job_filter.flow_key:
        found["flow_key"] = _("flow key is “%(flow_key)s”") % {"flow_key": job_filter.flow_key}
    if count := len(job_filter.ids):
        chosen = ngettext("%(count)s chosen job", "%(count)s chosen jobs", count)
        found["ids"] = chosen % {"count": f"{count:,}"}
    if job_filter.series is not None:
        names = series_names([job_filter]) if series is None else series
        name = names.get(job_filter.series)
        # One that was deleted has no name any more.
        of_series = _("of the series “%(name)s”") if name else _("of series %(number)s")
        found["series"] = of_series % {"name": name, "number": job_filter.series}
    for name, words in _TIMES.items():
        if (time := getattr(job_filter, name)) is not None:
            found[name] = words % {"time": _local(time)}
    if job_filter.operation is not None:
        found["operation"] = _("last changed by operation %(number)s") % {"number": job_filter.operation}
    return found


def filter_of(query: QueryDict, *, apart: frozenset[str] = frozenset()) -> JobFilter:
    """The filter that an address asks for.

    Args:
        query: the parameters of the address.
        apart: parameters that are for something else.

    Raises InvalidJob where a name or a value is not valid.
    """
    given: dict[str, Any] = {name: value for name, value in query.items() if name not in apart}
    if "ids" in given:
        given["ids"] = query.getlist("ids")
    return JobFilter.parse(given)


def stored_filter(operation: Operation) -> JobFilter:
    """The filter of an operation's row; the empty one where a later release wrote what this one cannot read."""
    stored: object = operation.job_filter
    try:
        found = JobFilter.parse(stored) if isinstance(stored, dict) else JobFilter()
    except InvalidJob:
        return JobFilter()
    # The biz type may have another code since.
    named = operation.biz_type if found.biz_type else None
    return found if named is None else replace(found, biz_type=named.label)


def query_of(job_filter: JobFilter) -> str:
    """The filter as the query of an address."""
    return urlencode(job_filter.as_dict(), doseq=True)


def _local(time: datetime) -> str:
    return f"{timezone.localtime(time):%Y-%m-%d %H:%M:%S %Z}"
