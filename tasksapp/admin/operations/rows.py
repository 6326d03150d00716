"""OperationRow: an operation as a line of the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.admin.frame.fragments import badge, clock_time, number, time_away
from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.verb_words import RUNS, title_of
from tasksapp.models import Operation, Series
from tasksapp.models.error_class import error_class_label
from tasksapp.operations import rest_of
from tasksapp.operations.verbs import source_of

State = Operation.State
#: The kind of badge that each state has.
_BADGES = {
    State.PLANNING: "pending",
    State.PLANNED: "pending",
    State.RUNNING: "running",
    State.DONE: "succeeded",
    State.STOPPED: "cancelled",
    State.FAILED: "dead",
}
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


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRow:
    """A line of the history; numbers that do not apply to the verb or the state are dashes."""

    pk: int
    title: str
    conditions: list[str]
    url: str
    who: str
    reason: str
    state: SafeString
    state_reason: str
    has_begun: bool
    planned: str
    done: str
    left: str
    succeeded: str
    dead: str
    when: SafeString
    jobs_url: str

    @classmethod
    def of(
        cls, operation: Operation, *, site: str, now: datetime | None = None, series: Mapping[int, str] | None = None
    ) -> OperationRow:
        """The line of that operation, with links to the admin site of that name, and names from those of the series."""
        job_filter = stored_filter(operation)
        runs, started = operation.verb in RUNS, operation.started_at is not None
        return cls(
            pk=operation.pk,
            title=title_of(operation.verb, job_filter),
            conditions=filter_words(job_filter, series=series),
            url=reverse("admin:tasksapp_operation_change", args=[operation.pk], current_app=site),
            who=operation.started_by,
            reason=operation.reason,
            state=state_badge(operation),
            state_reason=operation.state_reason,
            has_begun=started,
            planned=number(operation.planned),
            done=number(operation.done if started else None),
            left=number(operation.left if started else None),
            succeeded=number(operation.succeeded if started and runs else None),
            dead=number(operation.dead if started and runs else None),
            when=_when(operation.started_at or operation.created_at, now=now),
            jobs_url=jobs_address(operation, site=site) if operation.done else "",
        )


def _when(at: datetime, *, now: datetime | None) -> SafeString:
    """The time, without its day where that is today, and how long ago it was."""
    words = '<time datetime="{}">{}</time> <span class="delayhub-quiet">{}</span>'
    return format_html(words, at.isoformat(), clock_time(at), time_away(at, now=now))


def state_badge(operation: Operation) -> SafeString:
    """The state of an operation as a badge."""
    return badge(operation.get_state_display(), _BADGES.get(State(operation.state), "pending"))


def list_address(verb: str, job_filter: JobFilter, *, site: str) -> str:
    """The list of the jobs that an operation with that verb and filter is for."""
    query = query_of(replace(job_filter, status=source_of(verb)))
    return f"{reverse('admin:tasksapp_job_changelist', current_app=site)}?{query}"


def rest_address(operation: Operation, *, site: str) -> str:
    """The page that plans the verb for the rest of the operation's jobs; '' where there is none."""
    rest = rest_of(operation)
    if rest is None:
        return ""
    named = stored_filter(operation)  # its biz type may have another code since
    query = f"verb={operation.verb}&rest={operation.pk}&{query_of(replace(rest, biz_type=named.biz_type))}"
    return f"{reverse('admin:tasksapp_operation_plan', current_app=site)}?{query}"


def jobs_address(operation: Operation, *, site: str, status: str = "") -> str:
    """The list of the jobs that the operation changed, or of those with that status."""
    query = f"operation={operation.pk}" + (f"&status={status}" if status else "")
    return f"{reverse('admin:tasksapp_job_changelist', current_app=site)}?{query}"


def series_names(filters: Iterable[JobFilter]) -> dict[int, str]:
    """The names of the series that the filters are for, by number: one query, none where no filter has one."""
    wanted = {each.series for each in filters if each.series is not None}
    return dict(Series.objects.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}


def filter_words(job_filter: JobFilter, *, series: Mapping[int, str] | None = None) -> list[str]:
    """What must hold of a job, a phrase for each condition; biz type and status are for the title.

    Args:
        job_filter: the filter.
        series: the names of series, where :func:`series_names` has read them for several filters.
    """
    found = []
    if job_filter.error_class:
        found.append(_("last error: %(error)s") % {"error": error_class_label(job_filter.error_class)})
    if job_filter.biz_id.endswith("*"):
        found.append(_("biz id begins with “%(biz_id)s”") % {"biz_id": job_filter.biz_id[:-1]})
    elif job_filter.biz_id:
        found.append(_("biz id is “%(biz_id)s”") % {"biz_id": job_filter.biz_id})
    if job_filter.flow_key:
        found.append(_("flow key is “%(flow_key)s”") % {"flow_key": job_filter.flow_key})
    if count := len(job_filter.ids):
        chosen = ngettext("%(count)s chosen job", "%(count)s chosen jobs", count)
        found.append(chosen % {"count": f"{count:,}"})
    if job_filter.series is not None:
        names = series_names([job_filter]) if series is None else series
        name = names.get(job_filter.series)
        # One that was deleted has no name any more.
        of_series = _("of the series “%(name)s”") if name else _("of series %(number)s")
        found.append(of_series % {"name": name, "number": job_filter.series})
    for name, words in _TIMES.items():
        if (time := getattr(job_filter, name)) is not None:
            found.append(words % {"time": _local(time)})
    if job_filter.operation is not None:
        found.append(_("last changed by operation %(number)s") % {"number": job_filter.operation})
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
