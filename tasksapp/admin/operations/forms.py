"""The forms of an operation: to plan it, to start it, to stop it and to give it another pace."""

from __future__ import annotations

import re
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.frame.fields import reason_field, time_field
from tasksapp.admin.jobs.actions import possible_time
from tasksapp.jobs.verb_words import FOR_GOOD, RUNS_AT_ONCE
from tasksapp.models import Operation
from tasksapp.operations.verbs import FASTEST, MOST_SPREAD, MOST_TRIAL_JOBS, SLOWEST, TYPED_ABOVE

#: Fewer jobs than this are not worth a trial by default.
TRIAL_ABOVE = 20
#: Few jobs are spread over less than ten minutes by default: so many go a second.
USUAL_RATE = 10
#: How a person may say how fast it goes.
SPREAD, RATE, AT_ONCE = "spread", "rate", "at_once"


class PlanForm(forms.Form):
    """Why, and for verbs that need one the new time."""

    reason = reason_field(gettext_lazy("Reason"))


class PlanMoveForm(PlanForm):
    """The same for jobs that are moved to another time, in the time zone that the admin shows."""

    due_at = time_field(gettext_lazy("New time"), required=True)
    field_order = ["due_at", "reason"]

    def clean_due_at(self) -> datetime:
        """The new time, which must be one that a job may have."""
        return possible_time(self.cleaned_data["due_at"])


class PaceForm(forms.Form):
    """How fast an operation goes."""

    pace = forms.ChoiceField(
        choices=[
            (SPREAD, gettext_lazy("Spread over some minutes")),
            (RATE, gettext_lazy("So many jobs a second")),
            (AT_ONCE, gettext_lazy("At once")),
        ]
    )
    minutes = forms.FloatField(required=False, min_value=0.02, max_value=MOST_SPREAD.total_seconds() / 60)
    rate = forms.FloatField(required=False, min_value=SLOWEST, max_value=FASTEST)

    def clean(self) -> dict[str, Any]:
        """The fields; the one that the chosen pace needs must be there."""
        cleaned: dict[str, Any] = super().clean() or {}
        for pace, name in ((SPREAD, "minutes"), (RATE, "rate")):
            if cleaned.get("pace") == pace and cleaned.get(name) is None and name not in self.errors:
                self.add_error(name, _("Give a number."))
        return cleaned

    @property
    def spread_seconds(self) -> float | None:
        """How long it is to take; None where another pace was chosen."""
        return self.cleaned_data["minutes"] * 60 if self.cleaned_data["pace"] == SPREAD else None

    @property
    def rate_per_second(self) -> float | None:
        """The rate that was chosen; None where another pace was."""
        return self.cleaned_data["rate"] if self.cleaned_data["pace"] == RATE else None

    def rate_for(self, jobs: int) -> float | None:
        """Jobs a second for so many jobs; None: as fast as possible."""
        if (seconds := self.spread_seconds) is not None:
            return min(FASTEST, max(1, jobs) / seconds)
        return self.rate_per_second


class Trial(NamedTuple):
    """How many jobs go first, and how many of a hundred must succeed."""

    jobs: int
    percent: int


class StartForm(PaceForm):
    """What an operation needs to be started."""

    with_trial = forms.BooleanField(required=False)
    trial_jobs = forms.IntegerField(required=False, min_value=1, max_value=MOST_TRIAL_JOBS)
    trial_percent = forms.IntegerField(required=False, min_value=1, max_value=100)
    typed_count = forms.CharField(required=False, max_length=30)
    reason = reason_field(gettext_lazy("Reason"))

    def __init__(self, operation: Operation, data: Any = None) -> None:
        runs_at_once = operation.verb in RUNS_AT_ONCE
        planned = operation.planned or 0
        super().__init__(
            data,
            initial={
                "pace": SPREAD if runs_at_once else AT_ONCE,
                "minutes": min(10, max(1, ceil(planned / USUAL_RATE / 60))),
                "rate": 50,
                "with_trial": runs_at_once and planned > TRIAL_ABOVE,
                "trial_jobs": 10,
                "trial_percent": 90,
                "reason": operation.reason,
            },
        )
        self.planned = planned
        self.asks_number = operation.verb in FOR_GOOD and planned > TYPED_ABOVE
        self.has_trial = runs_at_once

    def clean(self) -> dict[str, Any]:
        """The fields; a trial needs both of its numbers."""
        cleaned = super().clean()
        for name in ("trial_jobs", "trial_percent"):
            if self.has_trial and cleaned.get("with_trial") and cleaned.get(name) is None and name not in self.errors:
                self.add_error(name, _("Give a number."))
        return cleaned

    def clean_typed_count(self) -> int | None:
        """The number of jobs, as the person typed it: ``44667``, ``44,667`` or ``44 667``."""
        text = re.sub(r"[\s,.'_\u2019]", "", self.cleaned_data["typed_count"])
        typed = int(text) if text.isascii() and text.isdigit() else None
        if self.asks_number and typed != self.planned:
            raise forms.ValidationError(
                _("This cannot be undone: type %(jobs)s to go on.") % {"jobs": f"{self.planned:,}"}
            )
        return typed

    @property
    def trial(self) -> Trial:
        """The trial; it has no jobs where none is wanted."""
        if not (self.has_trial and self.cleaned_data["with_trial"]):
            return Trial(jobs=0, percent=90)
        return Trial(jobs=self.cleaned_data["trial_jobs"], percent=self.cleaned_data["trial_percent"])


class RepaceForm(PaceForm):
    """Another pace for an operation that runs."""

    prefix = "pace"

    def __init__(self, operation: Operation, data: Any = None) -> None:
        rate = operation.rate_per_second
        initial = {"pace": AT_ONCE if rate is None else RATE, "rate": round(rate, 3) if rate else 50, "minutes": 10}
        super().__init__(data, initial=initial)


class StopForm(forms.Form):
    """Why an operation is stopped."""

    prefix = "stop"
    reason = reason_field(gettext_lazy("Reason"))


def plan_form(verb: str, data: Any = None) -> PlanForm:
    """The form to plan an operation with that verb."""
    if verb != Operation.VerbName.RESCHEDULE:
        return PlanForm(data)
    return PlanMoveForm(data, initial={"due_at": timezone.localtime().replace(second=0)})
