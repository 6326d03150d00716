"""Series in the admin: people make jobs that repeat, see what comes and what became of it, pause and trigger them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp import operations
from tasksapp.access.audit import Deed
from tasksapp.access.permissions import PAUSE_SERIES, VIEW_BODY
from tasksapp.access.quotas import refusal_words
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.fields import reason_field
from tasksapp.admin.frame.fragments import address, jobs_address, local_time
from tasksapp.admin.frame.masking import body_card
from tasksapp.admin.frame.own_page import Crumb, OwnPages, at
from tasksapp.admin.frame.own_request import own_request_facts
from tasksapp.admin.frame.possible_rows import PossibleRows
from tasksapp.admin.frame.requests import actor_of, row_number
from tasksapp.admin.series.form import PREVIEW, BackfillForm, SeriesForm
from tasksapp.admin.series.rows import coming_rows, next_of, past_rows, state_of, words
from tasksapp.errors import InvalidJob, NameTaken, QuotaUsedUp, SeriesNotFound, StaleSeries
from tasksapp.models import Series
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.operations import Starter
from tasksapp.series import verbs

_DEEDS = [deed.value for deed in Deed if deed.value.startswith("series.")]


class ReasonForm(forms.Form):
    """Why."""

    reason = reason_field(
        gettext_lazy("Why"),
        gettext_lazy("Everybody reads it who asks why nothing comes, such as: holidays."),
        required=True,
    )


class SeriesAdmin(AuditHistory, OwnPages, PossibleRows):
    """The list of series, the page of one, its form, and the verbs."""

    list_display = ["label", "when", "next", "state", "overlap"]
    list_display_links = ["label"]
    list_select_related = ["biz_type__tenant__counted"]
    list_filter = ["overlap"]
    list_per_page = 50
    search_fields = ["name", "biz_type__code"]
    ordering = ["biz_type__code", "name"]
    named_lookups = frozenset({"overlap__exact", "biz_type__id__exact"})

    class Media:
        css = {"all": ["tasksapp/series.css"]}

    def audit_of(self, row: Series) -> Q:
        """Entries about the series itself."""
        return Q(verb__in=_DEEDS, biz_type_id=row.biz_type_id, what=row.label)

    @admin.display(description=gettext_lazy("series"), ordering="name")
    def label(self, series: Series) -> SafeString:
        """Its name, and its biz type below it."""
        return format_html('{}<span class="delayhub-below">{}</span>', series.name, series.biz_type.label)

    @admin.display(description=gettext_lazy("when"))
    def when(self, series: Series) -> str:
        """What its schedule means."""
        return words(series)

    @admin.display(description=gettext_lazy("next"))
    def next(self, series: Series) -> SafeString:
        """Its next occurrence."""
        return local_time(next_of(series, now=timezone.now()))

    @admin.display(description=gettext_lazy("state"))
    def state(self, series: Series) -> SafeString:
        """Whether it goes on."""
        return state_of(series)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """None: each series has its page."""
        del request
        return {}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of a series. Raises Http404 and PermissionDenied."""
        del form_url
        series = self._found(object_id)
        if not self.has_view_permission(request, series):
            raise PermissionDenied
        now, site = timezone.now(), self.admin_site.name
        is_readable = not series.blank_unreadable()
        may_pause = request.user.has_perm(PAUSE_SERIES)
        context = {
            "series": series,
            "state": state_of(series),
            "words": words(series),
            "coming": coming_rows(series, now=now, site=site),
            "past": past_rows(series, now=now, site=site),
            "jobs_url": jobs_address(site=site, tab="all", series=str(series.pk)),
            "body": body_card(request, series),
            "is_readable": is_readable,
            "own": own_request_facts(series.request, sees=request.user.has_perm(VIEW_BODY)),
            "may_pause": may_pause,
            "may_change": self.has_change_permission(request, series),
            "may_delete": self.has_delete_permission(request, series),
            **(extra_context or {}),
        }
        return self._page(request, "series.html", series.name, context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The form of a new series. Raises PermissionDenied."""
        del form_url, extra_context
        if not self.has_add_permission(request):
            raise PermissionDenied
        return self._form_page(request, None)

    @at("<int:series_id>/edit/")
    def edit_view(self, request: HttpRequest, series_id: int) -> HttpResponse:
        """The form of a series that is there. Raises PermissionDenied, and Http404 where there is none."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        series = self._found(series_id)
        if series.blank_unreadable():
            messages.error(request, _("It cannot be edited: no key of ENCRYPTION_KEYS opens what it carries."))
            return self.to("change", series)
        return self._form_page(request, series)

    @at("<int:series_id>/pause/")
    def pause_view(self, request: HttpRequest, series_id: int) -> HttpResponse:
        """Asks why, and pauses the series. Raises PermissionDenied, and Http404 where there is none."""
        series = self._allowed(request, series_id)
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            reason, by = form.cleaned_data["reason"], actor_of(request)
            said = _("The series is paused. What is due or runs already goes on.")
            return self._done(request, series, lambda: verbs.pause(series.pk, reason=reason, by=by), said)
        context = {"series": series, "form": form, "back": self.address("change", series)}
        return self._page(request, "series_pause.html", _("Pause %(name)s") % {"name": series.name}, context, series)

    @at("<int:series_id>/resume/", posted=True)
    def resume_view(self, request: HttpRequest, series_id: int) -> HttpResponse:
        """Resumes the series. Raises PermissionDenied, and Http404 where there is none."""
        series = self._allowed(request, series_id)
        said = _("The series goes on with its next occurrence.")
        return self._done(request, series, lambda: verbs.resume(series.pk, by=actor_of(request)), said)

    @at("<int:series_id>/trigger/", posted=True)
    def trigger_view(self, request: HttpRequest, series_id: int) -> HttpResponse:
        """Makes a job of the series that is due now. Raises PermissionDenied, and Http404 where there is none."""
        series = self._allowed(request, series_id)
        said = _("A job was made that is due now.")
        return self._done(request, series, lambda: verbs.trigger(series.pk, by=actor_of(request)), said)

    @at("<int:series_id>/backfill/")
    def backfill_view(self, request: HttpRequest, series_id: int) -> HttpResponse:
        """Asks which past occurrences are to have jobs, plans that, and leads to the operation's page.

        Raises PermissionDenied, and Http404 where there is no such series.
        """
        series = self._allowed(request, series_id)
        form = BackfillForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            by = Starter(actor_of(request), user_id=request.user.pk)
            try:
                operation = operations.plan_backfill(series.pk, by=by, **form.cleaned_data)
            except InvalidJob as error:
                form.refuse(error)
            else:
                site = self.admin_site.name
                return HttpResponseRedirect(address("tasksapp_operation_change", operation.pk, site=site))
        context = {
            "series": series,
            "form": form,
            "one_by_one": series.overlap != Series.Overlap.START,
            "back": self.address("change", series),
        }
        title = _("Backfill %(name)s") % {"name": series.name}
        return self._page(request, "series_backfill.html", title, context, series)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Asks, and deletes the series, or says why that is refused. Raises PermissionDenied."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except InvalidJob as error:
            self.message_user(request, error.message, messages.ERROR)
            return self.to("change", object_id)

    def delete_model(self, request: HttpRequest, obj: models.Model) -> None:
        """Deletes the series and those of its jobs that no worker has taken."""
        verbs.delete(obj.pk, by=actor_of(request))

    def _done(self, request: HttpRequest, series: Series, verb: Callable[[], object], said: str) -> HttpResponse:
        """Leads to the page of the series, and says what was done, or why that is refused."""
        try:
            verb()
        except (InvalidJob, SeriesNotFound, SecretUnreadable) as error:
            self.message_user(request, str(error), messages.ERROR)
        except QuotaUsedUp as error:
            self.message_user(request, refusal_words(error), messages.ERROR)
        else:
            self.message_user(request, said, messages.SUCCESS)
        return self.to("change", series)

    def _form_page(self, request: HttpRequest, series: Series | None) -> HttpResponse:
        data = request.POST if request.method == "POST" else None
        form = SeriesForm(data, series=series, sees_body=request.user.has_perm(VIEW_BODY))
        if data is not None and form.is_valid() and PREVIEW not in data:
            saved = self._save(request, form, series)
            if saved is not None:
                said = _("The series is saved: %(words)s. Its next occurrences are below.") % {"words": words(saved)}
                self.message_user(request, said, messages.SUCCESS)
                return self.to("change", saved)
        shown = form.preview
        context = {
            "form": form,
            "series": series,
            "preview_name": PREVIEW,
            "preview": shown,
            "preview_times": [local_time(at) for at in shown.occurrences] if shown else [],
            "back": self.address("changelist") if series is None else self.address("change", series),
        }
        title = _("New series") if series is None else _("Edit %(name)s") % {"name": series.name}
        return self._page(request, "series_form.html", title, context, series)

    def _save(self, request: HttpRequest, form: SeriesForm, series: Series | None) -> Series | None:
        """The series as it is stored; None where it is refused, which the form says."""
        by = actor_of(request)
        try:
            if series is None:
                biz_type = form.cleaned_data["biz_type"]
                return verbs.create(biz_type.code, tenant=biz_type.tenant.code, by=by, **form.given())
            return verbs.change(series.pk, version=form.cleaned_data["version"], by=by, **form.given())
        except InvalidJob as error:
            form.refuse(error)
        except NameTaken:
            form.add_error("name", _("The biz type has a series of this name already."))
        except QuotaUsedUp as error:
            form.add_error(None, refusal_words(error))
        except StaleSeries:
            form.add_error(None, _("Somebody changed this series while the form was open: load it again."))
        return None

    def _found(self, series_id: object) -> Series:
        number = row_number(str(series_id))
        series = Series.objects.select_related("biz_type__tenant__counted").filter(pk=number or 0).first()
        if series is None:
            raise Http404("There is no such series.")
        return series

    def _allowed(self, request: HttpRequest, series_id: int) -> Series:
        """The series, for a person who may pause it. Raises PermissionDenied and Http404."""
        if not (request.user.has_perm(PAUSE_SERIES) and self.has_view_permission(request)):
            raise PermissionDenied
        return self._found(series_id)

    def _page(
        self, request: HttpRequest, template: str, title: str, context: dict[str, Any], series: Series | None = None
    ) -> HttpResponse:
        above = None if series is None else Crumb(series.name, self.address("change", series))
        return self.own_page(request, f"tasksapp/admin/{template}", title, context, above=above)
