"""OperationView: what the page of an operation shows, by its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp import operations
from tasksapp.access.permissions import may
from tasksapp.admin.frame.filter_words import filter_words, stored_filter
from tasksapp.admin.frame.fragments import DASH, clock_time, local_time, number, percent, time_away
from tasksapp.admin.operations.facts import facts, finish_words, hindrances, limits, rate_words
from tasksapp.admin.operations.forms import RepaceForm, StartForm, StopForm
from tasksapp.admin.operations.rows import jobs_address, list_address, rest_address, state_badge
from tasksapp.jobs.verb_words import RUNS, VERB_WORDS, title_of, with_count
from tasksapp.models import BizType, Operation, Status
from tasksapp.operations import Progress

State = Operation.State
#: The step of plan, run and result that each state belongs to.
_STEPS = {State.PLANNING: 1, State.PLANNED: 1, State.RUNNING: 2}


class OperationView:
    """What the page of one operation shows to one person, on the admin site of that name."""

    def __init__(self, request: HttpRequest, operation: Operation, *, site: str) -> None:
        self.operation = operation
        self.job_filter = stored_filter(operation)
        self.title = title_of(operation.verb, self.job_filter)
        self._request = request
        self._site = site
        self._now = timezone.now()

    def context(self) -> dict[str, Any]:
        """What all states have, and what this one has."""
        operation = self.operation
        progress = operations.progress(operation)
        state = State(operation.state)
        has_begun = operation.started_at is not None
        common: dict[str, Any] = {
            "operation": operation,
            "words": VERB_WORDS[operation.verb],
            "progress": progress,
            "sentence": progress.sentence,
            "state": state_badge(operation),
            "conditions": filter_words(self.job_filter).values(),
            "step": _STEPS.get(state, 3),
            "may_act": may(self._request.user, operation.verb),
            "runs": operation.verb in RUNS,
            "due_at": local_time(operation.due_at, now=self._now),
            "created_at": local_time(operation.created_at, now=self._now),
            "started_at": local_time(operation.started_at, now=self._now),
            "finished_at": local_time(operation.finished_at, now=self._now),
            "pace": pace_words(operation),
            "jobs_url": list_address(operation.verb, self.job_filter, site=self._site),
        }
        if state in (State.PLANNING, State.PLANNED):
            common["hindrances"] = hindrances(self._request, operation.verb, self._biz_types())
        if state == State.PLANNED:
            common |= {"planned": number(operation.planned), "facts": facts(operation, now=self._now)}
        if has_begun:
            common |= self._numbers(progress)
        return common

    def forms(self, given: Mapping[str, forms.Form]) -> dict[str, Any]:
        """The forms of this state; those that are given have what the person typed."""
        operation = self.operation
        if operation.state == State.PLANNED:
            start: Any = given.get("start_form") or StartForm(operation)
            rate = _rate_of(start, operation.planned or 0)
            return {
                "start_form": start,
                "stop_form": StopForm(),
                "start_label": with_count(VERB_WORDS[operation.verb].button, operation.planned or 0),
                "finish": finish_words(operation, rate, now=self._now),
                "begins_ms": self._begins_ms(),
                "limits": limits(operation, rate, now=self._now),
            }
        if operation.state in (State.RUNNING, State.PLANNING):
            return {
                "stop_form": given.get("stop_form") or StopForm(),
                "pace_form": given.get("pace_form") or RepaceForm(operation),
                "open_form": next(iter(given), ""),
            }
        return {}

    def _numbers(self, progress: Progress) -> dict[str, Any]:
        """How far it has come, and what became of the jobs since."""
        operation = self.operation
        planned = max(operation.planned or 0, progress.done)
        open_jobs = max(0, progress.done - progress.succeeded - progress.dead)
        rate, share = progress.per_second, progress.done / max(1, planned)
        return {
            "of": _("%(done)s of %(planned)s") % {"done": number(progress.done), "planned": number(planned)},
            "bar": {
                "value": progress.done,
                "max": max(1, planned),
                "percent": percent(share),
            },
            "done": number(progress.done),
            "left": number(progress.left),
            "succeeded": number(progress.succeeded),
            "dead": number(progress.dead),
            "failed": number(progress.failed),
            "open_jobs": number(open_jobs),
            "rate": DASH if rate is None else rate_words(rate),
            "finishes_at": clock_time(progress.finishes_at) if progress.finishes_at else DASH,
            "finishes_in": time_away(progress.finishes_at, now=self._now) if progress.finishes_at else "",
            "changed_url": jobs_address(operation, site=self._site),
            "rest_url": rest_address(operation, site=self._site),
            "dead_url": jobs_address(operation, site=self._site, status=Status.DEAD),
            "succeeded_url": jobs_address(operation, site=self._site, status=Status.SUCCEEDED),
            "trial": trial_words(operation, progress),
        }

    def _begins_ms(self) -> str:
        """When rescheduled jobs begin to be due, in Unix ms; '' for other verbs."""
        due_at = self.operation.due_at
        return "" if due_at is None else str(round(max(due_at, self._now).timestamp() * 1000))

    def _biz_types(self) -> list[BizType]:
        """The biz types of its jobs, as far as they are known."""
        if self.operation.biz_type is not None:
            return [self.operation.biz_type]
        walks = self.operation.cursor.get("walks", [])
        return (
            list(BizType.objects.select_related("tenant").filter(pk__in=[walk["biz_type"] for walk in walks]))
            if walks
            else []
        )


def pace_words(operation: Operation) -> str:
    """The pace in words."""
    rate = operation.rate_per_second
    if rate is None:
        return _("as fast as possible")
    return _("%(rate)s a second") % {"rate": rate_words(rate)}


def trial_words(operation: Operation, progress: Progress) -> str:
    """What the trial has come to; '' where there is none."""
    words = {"jobs": number(operation.trial_jobs), "percent": operation.trial_percent}
    match progress.trial:
        case "running":
            return _("Trial of %(jobs)s jobs: it goes on if %(percent)d %% of them succeed.") % words
        case "passed":
            return _("Trial of %(jobs)s jobs: enough of them succeeded, so it went on.") % words
        case "failed":
            return _("Trial of %(jobs)s jobs: less than %(percent)d %% of them succeeded, so it stopped.") % words
    return ""


def _rate_of(form: StartForm, jobs: int) -> float | None:
    """The rate that the form has now: what was typed, if that is valid, or what it begins with."""
    if form.is_bound and "pace" in getattr(form, "cleaned_data", {}) and not form.errors.keys() & {"minutes", "rate"}:
        return form.rate_for(jobs)
    initial = form.initial
    return max(1, jobs) / (initial["minutes"] * 60) if initial["pace"] == "spread" else None
