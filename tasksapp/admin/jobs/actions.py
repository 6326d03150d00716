"""What a person can do to jobs that they chose: each action applies one verb, and says how many jobs it left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.access.audit import REASON_LENGTH
from tasksapp.access.permissions import may
from tasksapp.admin.frame.own_page import Crumb, no_permission, own_page, refused_page
from tasksapp.admin.frame.requests import actor_of, site_of
from tasksapp.biz_types.holds import holds
from tasksapp.errors import InvalidJob
from tasksapp.jobs.bulk import BulkOutcome, apply_many
from tasksapp.jobs.validation import DUE_AT, due_time
from tasksapp.jobs.verb_words import FOR_GOOD, RUNS_AT_ONCE, VERB_WORDS, with_count
from tasksapp.jobs.verbs import Verb
from tasksapp.models import BizType, Job
from tasksapp.stats.delivery_health import delivery_health

#: Jobs that an action changes while the person waits; operations act on more.
MOST_AT_ONCE = 100
#: The field by which the page that asks whether to go on says that the person wants to.
CONFIRMED = "confirmed"


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
    """Applies the verb to the chosen jobs and shows the person what became of them; or a page.

    It is the page that asks first, which posts the same action for the same jobs again, so that those that changed
    meanwhile count as left alone; or one that says that the person may not apply the verb.
    """
    site, back = site_of(request), request.get_full_path()
    if not may(request.user, verb.word):
        sentence = no_permission(str(VERB_WORDS[verb.word].label))
        return refused_page(request, sentence, site=site, status=403, back=back)
    if len(ids) > MOST_AT_ONCE:
        refused = _("Nothing was changed: choose %(most)s jobs at most, or act on all that match.")
        messages.error(request, refused % {"most": MOST_AT_ONCE})
        return None
    if verb.word in FOR_GOOD and len(ids) > 1 and CONFIRMED not in request.POST:
        crumb = Crumb(str(Job._meta.verbose_name_plural).capitalize(), back)
        return confirm_page(request, verb, ids, site=site, crumbs=[crumb], back=back)
    apply_to_jobs(request, verb, ids)
    return None


def apply_to_jobs(request: HttpRequest, verb: Verb, ids: Sequence[UUID], *, due_at: datetime | None = None) -> None:
    """Applies the verb to those of the jobs that take it, and shows the person what became of them.

    Raises InvalidJob where no job may be due at the new time.
    """
    reason = request.POST.get("reason", "")
    outcome = apply_many(verb, ids, due_at=due_at, by=actor_of(request), reason=reason)
    note_single(request, ids, changed=outcome.changed, verb=str(verb))
    report(request, verb, outcome, due_at=due_at)


def report(request: HttpRequest, verb: Verb, outcome: BulkOutcome, *, due_at: datetime | None = None) -> None:
    """Shows what became of the jobs: changed, changed but held, or left alone; and why.

    Args:
        request: of the person.
        verb: what was done.
        outcome: to how many jobs.
        due_at: the new time of those that were moved.
    """

    def sentence(count: int) -> str:
        time = f"{timezone.localtime(due_at):%Y-%m-%d %H:%M:%S %Z}" if due_at else ""
        return with_count(VERB_WORDS[verb.word].done, count, time=time)

    runs_soon = verb.word in RUNS_AT_ONCE
    held = holds(outcome.biz_types, now=timezone.now()) if runs_soon else {}
    free = outcome.changed
    for reason, count in _by_reason(outcome, held):
        free -= count
        messages.warning(request, f"{sentence(count)} {_('But held: %(reason)s.') % {'reason': reason}}")
    if free and runs_soon and not delivery_health().goes_on:
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


def confirm_page(
    request: HttpRequest, verb: Verb, ids: Sequence[UUID], *, site: AdminSite, crumbs: Sequence[Crumb], back: str
) -> HttpResponse:
    """The page that asks before a verb that nothing undoes.

    Args:
        request: of the person.
        verb: what would be done.
        ids: to which jobs.
        site: the admin site that shows it.
        crumbs: the pages that it belongs to.
        back: where it leads, if the person does not want it.
    """
    words = VERB_WORDS[verb.word]
    found = Job.objects.filter(id__in=ids, status=verb.source).order_by()
    by_biz_type = dict(found.values_list("biz_type").annotate(jobs=Count("id")))
    biz_types = BizType.objects.select_related("tenant").filter(id__in=by_biz_type).order_by("code")
    count = sum(by_biz_type.values())
    context: dict[str, Any] = {
        "meaning": words.meaning,
        "button": with_count(words.button, count),
        "count": count,
        "left": len(ids) - count,
        "status": verb.source.label,
        "by_biz_type": [(biz_type.label, by_biz_type[biz_type.pk]) for biz_type in biz_types],
        "ids": ids,
        "ids_name": ACTION_CHECKBOX_NAME,
        "action": verb.word,
        "confirmed": CONFIRMED,
        "longest_reason": REASON_LENGTH,
        "back": back,
    }
    title = with_count(words.question, count)
    template = "tasksapp/admin/confirm.html"
    return own_page(request, site=site, template=template, title=title, context=context, crumbs=crumbs)


def _by_reason(outcome: BulkOutcome, held: Mapping[str, str]) -> list[tuple[str, int]]:
    """How many of the changed jobs are held, by the reason: those of most jobs first."""
    counts: Counter[str] = Counter()
    for biz_type, count in outcome.biz_types.items():
        if biz_type.queue in held:
            counts[held[biz_type.queue]] += count
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def note_single(request: HttpRequest, ids: Sequence[UUID], *, changed: int, verb: str) -> None:
    """Logs what a person did to one job. Of what is done to several at once the audit has an entry each.

    Args:
        request: of the person.
        ids: the jobs that the person chose.
        changed: how many of them were changed.
        verb: what was done; in English, since others read it in languages of their own.
    """
    if len(ids) == 1 and changed == 1 and request.user.pk is not None:
        job = Job.objects.defer("body", "raw").filter(id=ids[0])
        LogEntry.objects.log_actions(request.user.pk, job, CHANGE, change_message=verb, single_object=True)
