"""OperationRow: an operation as a line of the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tasksapp.admin.frame.filter_words import filter_words, query_of, stored_filter
from tasksapp.admin.frame.fragments import badge, clock_time, number, time_away
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.verb_words import RUNS, title_of
from tasksapp.models import Operation
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
            conditions=list(filter_words(job_filter, series=series).values()),
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
