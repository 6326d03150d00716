"""What a person can do to jobs: each action applies one verb, and says how many jobs it left alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from tasksapp.errors import InvalidJob
from tasksapp.jobs.bulk import BulkOutcome, apply_many
from tasksapp.jobs.validation import DUE_AT, due_time
from tasksapp.jobs.verbs import Verb


class Button(NamedTuple):
    """A button: its label, the verb that it applies, and the words for its success."""

    label: str
    verb: Verb
    done: str


BUTTONS = {
    "run_now": Button("Run now", Verb.RUN_NOW, "due now"),
    "cancel": Button("Cancel", Verb.CANCEL, "cancelled"),
    "redrive": Button("Redrive", Verb.REDRIVE, "tried again"),
    "drop": Button("Drop", Verb.DROP, "dropped for good"),
}


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
    """Shows one message for the jobs that were changed, and one for those that were not and why."""
    if outcome.changed:
        messages.success(request, f"{_jobs(outcome.changed)} {done}.")
    if outcome.left:
        messages.warning(request, f"{_jobs(outcome.left)} left alone: {verb} is for what is {verb.source.label}.")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
