"""The tabs of the list of jobs: which jobs each shows, in which order, with which columns and verbs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from tasksapp.jobs.verbs import Verb
from tasksapp.models import Status

ENDED = (Status.CANCELLED, Status.SKIPPED, Status.DROPPED)


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A part of all jobs.

    Args:
        name: how addresses name it.
        label: how people read it.
        statuses: where its jobs stand; empty for any.
        order: the column that its jobs are ordered by, ``-`` before it for the last ones first.
        columns: what it shows of each job, by the names of :mod:`tasksapp.admin.jobs.columns`.
        verbs: what may be done to its jobs.
        span: which times a range means: those of the filters ``next_…`` or ``ended_…``; '' where no index serves one.
        empty: what it says where there are no jobs.
    """

    name: str
    label: str | Promise
    statuses: tuple[Status, ...]
    order: str
    columns: tuple[str, ...]
    verbs: tuple[Verb, ...] = ()
    span: str = ""
    empty: str | Promise

    @property
    def is_sortable(self) -> bool:
        """Whether its order can be turned round: where an index has it both ways."""
        return bool(self.span)


TABS = {
    tab.name: tab
    for tab in (
        Tab(
            name="pending",
            label=_("Pending"),
            statuses=(Status.PENDING,),
            order="next_run_at",
            columns=("job", "due", "next_run", "waits", "attempts"),
            verbs=(Verb.RUN_NOW, Verb.RESCHEDULE, Verb.CANCEL),
            span="next",
            empty=_("No job waits for its time."),
        ),
        Tab(
            name="due",
            label=_("Due now"),
            statuses=(Status.PENDING,),
            order="next_run_at",
            columns=("job", "since", "waits", "attempts"),
            verbs=(Verb.RESCHEDULE, Verb.CANCEL),
            empty=_("No job is due: all that were have been taken by workers."),
        ),
        Tab(
            name="running",
            label=_("Running"),
            statuses=(Status.RUNNING,),
            order="lease_until",
            columns=("job", "running", "worker", "attempts"),
            empty=_("No job runs at this moment."),
        ),
        Tab(
            name="dead",
            label=_("Dead"),
            statuses=(Status.DEAD,),
            order="-finished_at",
            columns=("job", "died", "error", "attempts"),
            verbs=(Verb.REDRIVE, Verb.DROP),
            span="ended",
            empty=_("No job is dead. Jobs die when all their attempts have failed."),
        ),
        Tab(
            name="done",
            label=_("Done"),
            statuses=(Status.SUCCEEDED,),
            order="-finished_at",
            columns=("job", "ended", "due", "attempts"),
            span="ended",
            empty=_("No job has succeeded yet, or retention has deleted those that did."),
        ),
        Tab(
            name="off",
            label=_("Called off"),
            statuses=ENDED,
            order="-id",
            columns=("job", "status", "ended", "by", "due"),
            empty=_("No job was cancelled, skipped or dropped."),
        ),
        Tab(
            name="all",
            label=_("All"),
            statuses=(),
            order="-id",
            columns=("job", "status", "due", "ended", "attempts", "error"),
            empty=_("There are no jobs."),
        ),
    )
}


@dataclass(frozen=True)
class Span:
    """A range of time by its name, for those who do not want to write two times."""

    label: str | Promise
    begin: timedelta
    end: timedelta
    from_midnight: bool = False

    def resolve(self, now: datetime) -> tuple[datetime, datetime]:
        """When it begins and ends, in the current zone."""
        start = timezone.localtime(now)
        if self.from_midnight:
            start = start.replace(hour=0, minute=0, second=0, microsecond=0)
        # In the clock's own time, so that a day with a change of the clock begins at midnight too.
        return start + self.begin, start + self.end


_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
#: By the kind of range, then by the name in addresses.
SPANS: dict[str, dict[str, Span]] = {
    "next": {
        "hour": Span(_("next hour"), timedelta(), _HOUR),
        "tonight": Span(_("tonight, 18:00 to 6:00"), 18 * _HOUR, 30 * _HOUR, from_midnight=True),
        "tomorrow": Span(_("tomorrow"), _DAY, 2 * _DAY, from_midnight=True),
        "week": Span(_("next 7 days"), timedelta(), 7 * _DAY),
    },
    "ended": {
        "hour": Span(_("last hour"), -_HOUR, timedelta(minutes=1)),
        "today": Span(_("today"), timedelta(), _DAY, from_midnight=True),
        "yesterday": Span(_("yesterday"), -_DAY, timedelta(), from_midnight=True),
        "week": Span(_("last 7 days"), -7 * _DAY, timedelta(minutes=1)),
    },
}
