"""What a person can do to jobs that they chose: each action applies one verb, and says how many jobs it left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from tasksapp.access.permissions import may
from tasksapp.admin.frame.own_page import Crumb, no_permission, own_page, refused_page
from tasksapp.admin.frame.requests import actor_of, site_of
from tasksapp.biz_types.holds import holds
from tasksapp.errors import InvalidJob
from tasksapp.jobs.bulk import BulkOutcome, apply_many
from tasksapp.jobs.validation import DUE_AT, due_time
from tasksapp.jobs.verbs import Verb
from tasksapp.models import BizType, Job
from tasksapp.stats.delivery_health import delivery_health

#: Jobs that an action changes while the person waits; operations act on more.
MOST_AT_ONCE = 100
#: The field by which the page that asks whether to go on says that the person wants to.
CONFIRMED = "confirmed"
#: Characters of a reason.
LONGEST_REASON = 500


class Button(NamedTuple):
    """A button: its label, the verb that it applies, and the sentence for its success."""

    label: str | Promise
    verb: Verb
    done: str | Promise


BUTTONS = {
    "run_now": Button(
        gettext_lazy("Run now"),
        Verb.RUN_NOW,
        ngettext_lazy("%(jobs)s job due now.", "%(jobs)s jobs due now.", "count"),
    ),
    "cancel": Button(
        gettext_lazy("Cancel"),
        Verb.CANCEL,
        ngettext_lazy("%(jobs)s job cancelled.", "%(jobs)s jobs cancelled.", "count"),
    ),
    "redrive": Button(
        gettext_lazy("Redrive"),
        Verb.REDRIVE,
        ngettext_lazy("%(jobs)s job pending again, due now.", "%(jobs)s jobs pending again, due now.", "count"),
    ),
    "drop": Button(
        gettext_lazy("Drop"),
        Verb.DROP,
        ngettext_lazy("%(jobs)s job dropped for good.", "%(jobs)s jobs dropped for good.", "count"),
    ),
}

#: Verbs after which a person expects the jobs to run at once.
RUN_SOON = {Verb.RUN_NOW, Verb.REDRIVE}
#: Verbs that nothing undoes: for several jobs they ask first. By them, what the page asks, and its button.
ASK_FIRST: dict[Verb, tuple[Promise, Promise, Promise]] = {
    Verb.CANCEL: (
        ngettext_lazy("Cancel %(jobs)s job?", "Cancel %(jobs)s jobs?", "count"),
        gettext_lazy("Cancelled jobs never run. Nothing undoes this."),
        ngettext_lazy("Cancel %(jobs)s job", "Cancel %(jobs)s jobs", "count"),
    ),
    Verb.DROP: (
        ngettext_lazy("Drop %(jobs)s dead job?", "Drop %(jobs)s dead jobs?", "count"),
        gettext_lazy("Dropped jobs are given up for good: they can no longer be redriven."),
        ngettext_lazy("Drop %(jobs)s job", "Drop %(jobs)s jobs", "count"),
    ),
}


class RescheduleForm(forms.Form):
    """The new time of jobs, in the time zone that the admin shows."""

    due_at = forms.SplitDateTimeField(label=gettext_lazy("New time"), widget=AdminSplitDateTime)

    def clean_due_at(self) -> datetime:
        """The new time, which must be one that a job may have."""
        return possible_time(self.cleaned_data["due_at"])


def possible_time(given: datetime) -> datetime:
    """The time, if a job may be due then. Raises ValidationError where it may not."""
    try:
        return due_time(due=DUE_AT(given), wait=None, now=timezone.now())
    except InvalidJob as error:
        raise ValidationError(error.message) from error


def confirm_or_apply(request: HttpRequest, verb: Verb, ids: Sequence[UUID]) -> HttpResponse | None:
    """Applies the verb to the chosen jobs and shows the person what became of them; or the page that asks first.

    It is what an action of a list gives back. The page that asks posts the same action again.

    It is a page that says so where the person may not apply the verb.

    Raises BadRequest where a posted id is none.
    """
    button = BUTTONS[verb.name.lower()]
    if not may(request.user, verb.name.lower()):
        site = site_of(request)
        return refused_page(
            request, no_permission(str(button.label)), site=site, status=403, back=request.get_full_path()
        )
    is_confirmed = CONFIRMED in request.POST
    if is_confirmed:
        # Not what the list finds now: jobs that changed since the page was shown count as left alone.
        ids = _posted_ids(request)
    if len(ids) > MOST_AT_ONCE:
        refused = _("Nothing was changed: choose %(most)s jobs at most, or act on all that match.")
        messages.error(request, refused % {"most": MOST_AT_ONCE})
        return None
    if verb in ASK_FIRST and len(ids) > 1 and not is_confirmed:
        return _confirm_page(request, verb, ids)
    press_button(request, button, ids)
    return None


def press_button(request: HttpRequest, button: Button, ids: Sequence[UUID]) -> None:
    """Applies the button's verb to these jobs and shows the person what became of them."""
    reason = request.POST.get("reason", "").replace("\0", "").strip()[:LONGEST_REASON]
    outcome = apply_many(button.verb, ids, by=actor_of(request), reason=reason)
    note_single(request, ids, changed=outcome.changed, deed=str(button.verb))
    report(request, button.verb, outcome, done=button.done)


def reschedule_jobs(request: HttpRequest, ids: Sequence[UUID], *, due_at: datetime) -> None:
    """Moves the pending ones of these jobs and shows the person what became of them.

    Raises InvalidJob where no job may be due then.
    """
    outcome = apply_many(Verb.RESCHEDULE, ids, due_at=due_at, by=actor_of(request))
    note_single(request, ids, changed=outcome.changed, deed=str(Verb.RESCHEDULE))
    moved = ngettext_lazy("%(jobs)s job moved to %(time)s.", "%(jobs)s jobs moved to %(time)s.", "count")
    report(request, Verb.RESCHEDULE, outcome, done=moved, time=f"{timezone.localtime(due_at):%Y-%m-%d %H:%M:%S %Z}")


def report(request: HttpRequest, verb: Verb, outcome: BulkOutcome, *, done: str | Promise, **values: str) -> None:
    """Shows what became of the jobs: changed, changed but held, or left alone; and why.

    Args:
        request: of the person.
        verb: what was done.
        outcome: to how many jobs.
        done: the sentence for those that it changed.
        values: what else the sentence names.
    """

    def sentence(count: int) -> str:
        return str(done % {"count": count, "jobs": f"{count:,}", **values})

    held = holds(outcome.biz_types, now=timezone.now()) if verb in RUN_SOON else {}
    free = outcome.changed
    for reason, count in _by_reason(outcome, held):
        free -= count
        messages.warning(request, f"{sentence(count)} {_('But held: %(reason)s.') % {'reason': reason}}")
    if free and verb in RUN_SOON and not delivery_health().goes_on:
        waits = _("It waits until jobs are delivered again.")  # the page that comes next says why they are not
        messages.warning(request, f"{sentence(free)} {waits}")
    elif free:
        messages.success(request, sentence(free))
    if outcome.left:
        left = ngettext(
            "%(jobs)s job left alone: its status is not “%(status)s”.",
            "%(jobs)s jobs left alone: their status is not “%(status)s”.",
            outcome.left,
        )
        messages.warning(request, left % {"jobs": f"{outcome.left:,}", "status": verb.source.label})


def _posted_ids(request: HttpRequest) -> list[UUID]:
    try:
        return [UUID(given) for given in request.POST.getlist(ACTION_CHECKBOX_NAME)]
    except ValueError:
        raise BadRequest("One of the chosen rows has no valid id.") from None


def _confirm_page(request: HttpRequest, verb: Verb, ids: Sequence[UUID]) -> HttpResponse:
    question, meaning, button = ASK_FIRST[verb]
    found = Job.objects.filter(id__in=ids, status=verb.source).order_by()
    by_biz_type = dict(found.values_list("biz_type").annotate(jobs=Count("id")))
    biz_types = BizType.objects.select_related("tenant").filter(id__in=by_biz_type).order_by("code")
    counts = [(biz_type.label, by_biz_type[biz_type.pk]) for biz_type in biz_types]
    count = sum(by_biz_type.values())
    values = {"count": count, "jobs": f"{count:,}"}
    site, back = site_of(request), request.get_full_path()
    context: dict[str, Any] = {
        "meaning": meaning,
        "button": button % values,
        "count": count,
        "left": len(ids) - count,
        "status": verb.source.label,
        "by_biz_type": counts,
        "ids": ids,
        "ids_name": ACTION_CHECKBOX_NAME,
        "action": request.POST.get("action", ""),
        "confirmed": CONFIRMED,
        "longest_reason": LONGEST_REASON,
        "back": back,
    }
    crumbs = [Crumb(str(Job._meta.verbose_name_plural).capitalize(), back)]
    title = str(question % values)
    return own_page(
        request, site=site, template="tasksapp/admin/confirm.html", title=title, context=context, crumbs=crumbs
    )


def _by_reason(outcome: BulkOutcome, held: Mapping[str, str]) -> list[tuple[str, int]]:
    """How many of the changed jobs are held, by the reason: those of most jobs first."""
    counts: Counter[str] = Counter()
    for biz_type, count in outcome.biz_types.items():
        if biz_type.queue in held:
            counts[held[biz_type.queue]] += count
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def note_single(request: HttpRequest, ids: Sequence[UUID], *, changed: int, deed: str) -> None:
    """Logs what a person did to one job. Of what is done to several at once the audit has an entry each.

    Args:
        request: of the person.
        ids: the jobs that the person chose.
        changed: how many of them were changed.
        deed: what was done; in English, since others read it in languages of their own.
    """
    if len(ids) == 1 and changed == 1 and request.user.pk is not None:
        job = Job.objects.defer("body", "raw").filter(id=ids[0])
        LogEntry.objects.log_actions(request.user.pk, job, CHANGE, change_message=deed, single_object=True)
