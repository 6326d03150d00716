"""The columns of the list of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fragments import DASH, badge, duration, local_time, quiet
from tasksapp.models import Job, Status
from tasksapp.models.error_class import error_class_label


@dataclass(frozen=True, kw_only=True)
class Showing:
    """What cells need beside their job.

    Args:
        now: the present.
        holds: why the due jobs of a biz type do not go out, by its code.
        sees_bodies: whether the person may see what receivers answered, which errors quote.
        site: the admin site that shows the list.
    """

    now: datetime
    holds: Mapping[str, str]
    sees_bodies: bool
    site: str


class Cell(NamedTuple):
    """What a column shows of a job; the label is what phones show before it."""

    label: str
    html: str | SafeString
    name: str


class Row(NamedTuple):
    """A job in the list."""

    id: UUID
    title: str
    cells: list[Cell]


class Column(NamedTuple):
    """A column: its heading, and what it shows of a job."""

    label: str | Promise
    show: Callable[[Job, Showing], str | SafeString]


def rows_of(jobs: list[Job], columns: tuple[str, ...], showing: Showing) -> list[Row]:
    """The jobs as the list shows them."""
    return [
        Row(
            job.id,
            job.biz_id or str(job.id),
            [Cell(str(COLUMNS[name].label), COLUMNS[name].show(job, showing), name) for name in columns],
        )
        for job in jobs
    ]


def shown_error(text: str, *, sees_bodies: bool, error_class: str = "") -> str:
    """An error; only its kind for a person who may not see what receivers answer, since the text may quote that."""
    if not text or sees_bodies:
        return text
    return error_class_label(error_class) if error_class else _("hidden")


def _job(job: Job, showing: Showing) -> SafeString:
    url = reverse("admin:tasksapp_job_change", args=[job.id], current_app=showing.site)
    return format_html(
        '<a class="delayhub-job" href="{}" title="{}" dir="auto">{}</a>'
        ' <span class="delayhub-quiet delayhub-kind">{}</span>',
        url,
        job.biz_id or job.id,
        job.biz_id or job.id,
        job.biz_type.label,
    )


def _status(job: Job, showing: Showing) -> SafeString:
    del showing
    return badge(job.get_status_display(), job.status)


def _next_run(job: Job, showing: Showing) -> SafeString:
    if job.next_run_at == job.due_at and job.attempts_used == 0:
        return quiet("-")
    attempt = _("attempt %(number)d") % {"number": job.attempts_used + 1}
    return format_html("{} <span>{}</span>", local_time(job.next_run_at, now=showing.now), attempt)


def _waits(job: Job, showing: Showing) -> str | SafeString:
    held = showing.holds.get(job.biz_type.queue)
    is_due = job.next_run_at <= showing.now
    # Only a pause is known to last; whatever else holds due jobs now may be over by then.
    if held and (is_due or job.biz_type.is_shut(now=job.next_run_at)):
        return format_html('<span class="delayhub-why">{}</span>', held)
    if not is_due:
        return quiet(_("a retry, after a failure") if job.attempts_used else _("its time has not come"))
    return quiet(_("due; workers take it soon"))


def _attempts(job: Job, showing: Showing) -> str:
    del showing
    used, most = job.attempts_used, job.max_attempts or job.biz_type.max_attempts
    return _("%(used)d of %(most)d") % {"used": used, "most": most}


def _running(job: Job, showing: Showing) -> str:
    return _("for %(time)s") % {"time": duration(seconds=max(0, int((showing.now - job.updated_at).total_seconds())))}


def _error(job: Job, showing: Showing) -> str | SafeString:
    text = shown_error(job.last_error, sees_bodies=showing.sees_bodies, error_class=job.error_class)
    if not text:
        return quiet(DASH)
    return format_html('<span class="delayhub-line" title="{}" dir="auto">{}</span>', text, text)


def _by(job: Job, showing: Showing) -> str | SafeString:
    del showing
    if job.changed_by:
        return job.changed_by
    return quiet(_("too late") if job.status == Status.SKIPPED else DASH)


COLUMNS: dict[str, Column] = {
    "job": Column(gettext_lazy("Job"), _job),
    "status": Column(gettext_lazy("Status"), _status),
    "due": Column(gettext_lazy("Due"), lambda job, showing: local_time(job.due_at, now=showing.now)),
    "next_run": Column(gettext_lazy("Next try"), _next_run),
    "since": Column(gettext_lazy("Due since"), lambda job, showing: local_time(job.next_run_at, now=showing.now)),
    "waits": Column(gettext_lazy("Why it waits"), _waits),
    "attempts": Column(gettext_lazy("Attempts"), _attempts),
    "running": Column(gettext_lazy("Running"), _running),
    "worker": Column(gettext_lazy("Worker"), lambda job, showing: job.worker or quiet(DASH)),
    "died": Column(gettext_lazy("Died"), lambda job, showing: local_time(job.finished_at, now=showing.now)),
    "ended": Column(gettext_lazy("Ended"), lambda job, showing: local_time(job.finished_at, now=showing.now)),
    "error": Column(gettext_lazy("Error"), _error),
    "by": Column(gettext_lazy("By"), _by),
}
