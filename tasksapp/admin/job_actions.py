"""What a person can do to jobs: each action applies one verb, and says how many jobs it left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from tasksapp.admin.delivery_banner import reason_for
from tasksapp.biz_types.holds import holds
from tasksapp.errors import InvalidJob
from tasksapp.jobs.bulk import BulkOutcome, apply_many
from tasksapp.jobs.validation import DUE_AT, due_time
from tasksapp.jobs.verbs import Verb
from tasksapp.stats.delivery_health import delivery_health


class Button(NamedTuple):
    """A button: its label, the verb that it applies, and the words for its success."""

    label: str
    verb: Verb
    done: str


BUTTONS = {
    "run_now": Button("Run now", Verb.RUN_NOW, "due now"),
    "cancel": Button("Cancel", Verb.CANCEL, "cancelled"),
    "redrive": Button("Redrive", Verb.REDRIVE, "pending again, due now"),
    "drop": Button("Drop", Verb.DROP, "dropped for good"),
}

#: Verbs after which a person expects the jobs to run at once.
RUN_SOON = {Verb.RUN_NOW, Verb.REDRIVE}


class RescheduleForm(forms.Form):
    """The new time of jobs, in the time zone that the admin shows."""

    due_at = forms.SplitDateTimeField(label="New time", widget=AdminSplitDateTime)

    def clean_due_at(self) -> datetime:
        """The new time, which must be one that a job may have."""
        due_at: datetime = self.cleaned_data["due_at"]
        try:
            return due_time(due=DUE_AT(due_at), wait=None, now=timezone.now())
        except InvalidJob as error:
            raise ValidationError(error.message) from error


def press_button(request: HttpRequest, button: Button, ids: Sequence[UUID]) -> None:
    """Applies the button's verb to these jobs and shows the person what became of them."""
    report(request, button.verb, apply_many(button.verb, ids), done=button.done)


def reschedule_jobs(request: HttpRequest, ids: Sequence[UUID], *, due_at: datetime) -> None:
    """Moves the pending ones of these jobs and shows the person what became of them.

    Raises InvalidJob where no job may be due then.
    """
    outcome = apply_many(Verb.RESCHEDULE, ids, due_at=due_at)
    local = timezone.localtime(due_at)
    report(request, Verb.RESCHEDULE, outcome, done=f"moved to {local:%Y-%m-%d %H:%M:%S %Z}")


def report(request: HttpRequest, verb: Verb, outcome: BulkOutcome, *, done: str) -> None:
    """Shows what became of the jobs: changed, changed but held, or left alone; and why."""
    held = holds(outcome.biz_types, now=timezone.now()) if verb in RUN_SOON else {}
    free = outcome.changed
    for reason, count in _by_reason(outcome, held).items():
        free -= count
        messages.warning(request, f"{_jobs(count)} {done}, but held: {reason}.")
    if free and verb in RUN_SOON and (reason := reason_for(request, delivery_health())):
        messages.warning(request, f"{_jobs(free)} {done}, but {reason}.")
    elif free:
        messages.success(request, f"{_jobs(free)} {done}.")
    if outcome.left:
        messages.warning(request, f"{_jobs(outcome.left)} left alone: {verb} is for what is {verb.source.label}.")


def _by_reason(outcome: BulkOutcome, held: Mapping[str, str]) -> Counter[str]:
    """How many of the changed jobs are held, by the reason."""
    counts: Counter[str] = Counter()
    for biz_type, count in outcome.biz_types.items():
        if biz_type.code in held:
            counts[held[biz_type.code]] += count
    return counts


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
