"""What a person can do to jobs: each action asks one verb of the lifecycle and says what it could not do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from tasksapp.jobs import validation as rules
from tasksapp.jobs import verbs as lifecycle
from tasksapp.jobs.verbs import BulkOutcome
from tasksapp.models import Status


class Verb(NamedTuple):
    """A button: what it is called, what it asks, and how its success reads."""

    label: str
    run: Callable[[Sequence[UUID]], BulkOutcome]
    done: str
    name: str


VERBS = {
    "run_now": Verb("Run now", lifecycle.run_now_many, "due now", "run now"),
    "cancel": Verb("Cancel", lifecycle.cancel_many, "cancelled", "cancel"),
    "redrive": Verb("Redrive", lifecycle.redrive_many, "tried again", "redrive"),
    "drop": Verb("Drop", lifecycle.drop_many, "dropped for good", "drop"),
}


class RescheduleForm(forms.Form):
    """A new time for jobs, in the time zone that the admin shows."""

    due_at = forms.SplitDateTimeField(label="New time", widget=AdminSplitDateTime)

    def clean_due_at(self) -> datetime:
        """A time within what jobs may have."""
        moment: datetime = self.cleaned_data["due_at"]
        try:
            return rules.moment_of(due=rules.due_at(moment), wait=None, now=timezone.now())
        except InvalidJob as error:
            raise ValidationError(error.message) from error


def act(request: HttpRequest, verb: Verb, ids: Sequence[UUID]) -> None:
    """Asks the verb for these jobs and tells the person what became of them."""
    tell(request, verb.run(ids), done=verb.done, name=verb.name)


def move(request: HttpRequest, ids: Sequence[UUID], *, due_at: datetime) -> None:
    """Moves the pending ones of these jobs and tells the person what became of them."""
    outcome = lifecycle.reschedule_many(ids, due_at=due_at)
    local = timezone.localtime(due_at)
    tell(request, outcome, done=f"moved to {local:%Y-%m-%d %H:%M:%S %Z}", name="reschedule")


def tell(request: HttpRequest, outcome: BulkOutcome, *, done: str, name: str) -> None:
    """One message for what was done, one for what was not and why."""
    if outcome.changed:
        messages.success(request, f"{_jobs(outcome.changed)} {done}.")
    if outcome.left:
        allowed = " or ".join(sorted(str(Status(status).label) for status in lifecycle.allowed(name)))
        messages.warning(request, f"{_jobs(outcome.left)} left alone: {name} is for what is {allowed}.")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
