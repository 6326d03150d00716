"""The pages of an operation: plan, run, result."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp import operations
from tasksapp.access.permissions import VERBS, may
from tasksapp.admin.frame.filter_words import filter_of, filter_words
from tasksapp.admin.frame.own_page import OwnPages, at, no_permission, refused_page
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.operations.facts import breadth, hindrances
from tasksapp.admin.operations.forms import RepaceForm, StartForm, StopForm, plan_form
from tasksapp.admin.operations.rows import list_address
from tasksapp.admin.operations.view import OperationView
from tasksapp.biz_types.visible import labelled
from tasksapp.errors import InvalidJob, OperationNotFound, WrongOperationState
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.verb_words import VERB_WORDS, title_of
from tasksapp.models import BizType, Operation
from tasksapp.operations import Starter
from tasksapp.operations.verbs import OPEN

State = Operation.State
#: How often a page asks again while the jobs are counted, in seconds: at first, and after a minute.
COUNTING_SECONDS, LONG_COUNTING_SECONDS = 2, 10
#: The parameter of the plan's address that names the verb.
VERB = "verb"
#: The one that names the operation of whose jobs it is the rest.
REST = "rest"
#: The states in which each form stands on an operation's page.
_STATES = {"start_form": {State.PLANNED}, "pace_form": {State.RUNNING}, "stop_form": set(OPEN)}
#: The folder of the templates.
_PAGES = "admin/tasksapp/operation"


class OperationPages(OwnPages):
    """The part of the operation admin that shows one operation, and plans, starts, paces and stops it."""

    # ------------------------------------------------------------ plan

    @at("plan/")
    def plan_view(self, request: HttpRequest) -> HttpResponse:
        """Says what would be done to which jobs, and asks why; a POST plans it and leads to its page."""
        verb = request.GET.get(VERB, "")
        if verb not in VERBS or verb not in VERB_WORDS:
            return self._refused(request, _("The address names no verb, such as verb=redrive."), status=400)
        if not may(request.user, verb):
            return self._refused(request, no_permission(str(VERB_WORDS[verb].label)), status=403)
        try:
            job_filter = filter_of(request.GET, apart=frozenset({VERB, REST}))
        except InvalidJob as error:
            return self._refused(request, _("The address asks for no jobs: %(why)s.") % {"why": error}, status=400)
        form = plan_form(verb, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            given = {"due_at": form.cleaned_data.get("due_at"), "reason": form.cleaned_data["reason"]}
            try:
                reach_of = _named(request.GET.get(REST, ""))
                operation = operations.plan(verb, job_filter, by=_starter(request), reach_of=reach_of, **given)
            except InvalidJob as error:
                _add_error(form, error)
            else:
                return self.to("change", operation)
        biz_type = BizType.objects.filter(labelled(job_filter.biz_type)).first() if job_filter.biz_type else None
        if job_filter.biz_type and biz_type is None:
            sentence = _("There is no biz type %(code)s.") % {"code": job_filter.biz_type}
            return self._refused(request, sentence, status=400)
        title = title_of(verb, job_filter)
        context = {
            "words": VERB_WORDS[verb],
            "conditions": filter_words(job_filter).values(),
            "breadth": breadth(job_filter),
            "hindrances": hindrances(request, verb, [biz_type] if biz_type else []),
            "form": form,
            "step": 1,
            "jobs_url": list_address(verb, job_filter, site=self.admin_site.name),
            "media": self.media + form.media,
        }
        return self.own_page(request, f"{_PAGES}/plan.html", title, context)

    # ------------------------------------------------------------ one operation

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of an operation, as its state wants it; a POST starts, paces or stops it."""
        del form_url, extra_context
        operation: Operation | None = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, operation):
            return self._refused(request, _("Your account may not see operations."), status=403)
        if operation is None:
            messages.warning(request, _("There is no operation %(number)s.") % {"number": object_id})
            return self.to("changelist")
        if request.method != "POST":
            return self._page(request, operation)
        if not may(request.user, operation.verb):
            sentence = no_permission(str(VERB_WORDS[operation.verb].label))
            return self._refused(request, sentence, status=403, back=self.address("change", operation))
        deeds: dict[str, Callable[[HttpRequest, Operation], HttpResponse]] = {
            "start": self._start,
            "pace": self._repace,
            "stop": self._stop,
        }
        deed = deeds.get(request.POST.get("do", ""))
        return deed(request, operation) if deed else self.to("change", operation)

    def _start(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        form = StartForm(operation, request.POST)

        def start() -> None:
            given = form.cleaned_data
            operations.start(
                operation.pk,
                by=_starter(request),
                rate_per_second=form.rate_per_second,
                spread_seconds=form.spread_seconds,
                reason=given["reason"],
                typed_count=given["typed_count"],
                trial_jobs=form.trial.jobs,
                trial_percent=form.trial.percent,
            )

        return self._done(request, operation, start_form=form, do=start)

    def _repace(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        form = RepaceForm(operation, request.POST)

        def repace() -> None:
            waiting = operations.progress(operation).waiting
            operations.repace(operation.pk, by=_starter(request), rate_per_second=form.rate_for(waiting))
            messages.success(request, _("The new pace holds within seconds."))

        return self._done(request, operation, pace_form=form, do=repace)

    def _stop(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        form = StopForm(request.POST)

        def stop() -> None:
            operations.stop(operation.pk, by=_starter(request), reason=form.cleaned_data["reason"])
            if operation.state == State.RUNNING:
                messages.success(request, _("Stopped. Jobs that it had begun with may still start within seconds."))

        return self._done(request, operation, stop_form=form, do=stop)

    def _done(
        self, request: HttpRequest, operation: Operation, *, do: Callable[[], None], **given: forms.Form
    ) -> HttpResponse:
        """Does it where the form is valid, and leads back to the operation; else shows the form again."""
        ((name, form),) = given.items()
        if operation.state not in _STATES[name]:  # its page has no such form any more, nor a place for its faults
            return self._too_late(request, operation)
        if not form.is_valid():
            return self._page(request, operation, **given)
        try:
            do()
        except InvalidJob as error:
            _add_error(form, error)
            return self._page(request, operation, **given)
        except WrongOperationState:
            return self._too_late(request, operation)
        return self.to("change", operation)

    def _too_late(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        messages.warning(request, _("Nothing was changed: meanwhile the operation has another state."))
        return self.to("change", operation)

    def _page(self, request: HttpRequest, operation: Operation, **given: forms.Form) -> HttpResponse:
        view = OperationView(request, operation, site=self.admin_site.name)
        context = {**view.context(), **view.forms(given)}
        answer = self.own_page(
            request, f"{_PAGES}/operation.html", view.title, context, fragment=f"{_PAGES}/progress.html"
        )
        if operation.state == State.PLANNING:
            is_long = timezone.now() - operation.created_at > timedelta(minutes=1)
            answer.headers["Refresh"] = str(LONG_COUNTING_SECONDS if is_long else COUNTING_SECONDS)
        elif operation.state != State.RUNNING and "fragment" in request.GET:
            answer.headers["HX-Refresh"] = "true"  # it has ended since: the whole page is another one
        return answer

    def _refused(self, request: HttpRequest, sentence: str, *, status: int, back: str = "") -> HttpResponse:
        return refused_page(request, sentence, site=self.admin_site, status=status, back=back)


def _named(number: str) -> Operation | None:
    """The operation of that number, to which the plan is limited; None where the address names none."""
    if not number:
        return None
    try:
        return operations.find(JobFilter.parse({"operation": number}).operation or 0)
    except OperationNotFound as error:
        raise InvalidJob(REST, "unknown", str(error)) from error


def _starter(request: HttpRequest) -> Starter:
    return Starter(actor_of(request), user_id=request.user.pk)


def _add_error(form: forms.Form, error: InvalidJob) -> None:
    """Shows the error beside its field, or above the form where it has none of that name."""
    form.add_error(error.field if error.field in form.fields else None, str(error))
