"""Silencing and taking alerts: a page that asks why and until when, and buttons of the page of alerts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import router
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.permissions import PAUSE
from tasksapp.admin.frame.fields import UntilForm
from tasksapp.admin.frame.fragments import clock_time
from tasksapp.admin.frame.own_page import PageEntry, at
from tasksapp.admin.frame.requests import actor_of, row_number
from tasksapp.alerts.silences import active_silences, end_silence, silence
from tasksapp.alerts.taking import take
from tasksapp.models import Alert, AlertKind, AlertSilence, BizType

#: Biz types that the form offers.
MOST_OFFERED = 1_000
#: What a silence is about where it is about no biz type.
EVERYTHING, SITE = "", "site"


class SilenceForm(UntilForm):
    """Of whose alerts nobody is told, until when, and why."""

    reason_help = gettext_lazy("Everybody reads it who sees the alerts, such as: the shop moves.")

    about = forms.ChoiceField(label=gettext_lazy("Alerts of"), required=False)
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), required=False, choices=[("", gettext_lazy("all kinds")), *AlertKind.choices]
    )

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        rows = BizType.objects.select_related("tenant").order_by("code")
        offered = {str(row.pk): row.label for row in rows[:MOST_OFFERED]}
        asked = str((self.data if self.is_bound else self.initial).get("about", EVERYTHING))
        if asked not in {EVERYTHING, SITE, *offered} and (number := row_number(asked)) is not None:
            offered |= {str(row.pk): row.label for row in rows.filter(pk=number)}
            if not self.is_bound:
                # Of a biz type that is gone: chosen, so that the page does not offer all in its place, and refused.
                offered.setdefault(asked, asked)
        self.fields["about"].choices = [  # type: ignore[attr-defined]  # of a ChoiceField
            (EVERYTHING, _("the site and all biz types")),
            (SITE, _("the site itself")),
            *offered.items(),
        ]
        self._labels = offered

    @property
    def biz_type_id(self) -> int | None:
        """Whose alerts it is about, as a silence has it."""
        about = self.cleaned_data["about"]
        return None if about == EVERYTHING else 0 if about == SITE else int(about)

    @property
    def what(self) -> str:
        """The label of the biz type; '' where it is about no single one."""
        return self._labels.get(self.cleaned_data["about"], "")


class Silencing(PageEntry):
    """The part of the page of alerts that silences and takes them."""

    @at("silence/")
    def silence_view(self, request: HttpRequest) -> HttpResponse:
        """Asks why and until when. Raises PermissionDenied for people who may not pause biz types."""
        self._require_silence(request)
        form = SilenceForm(
            request.POST or None,
            initial={"about": request.GET.get("about", EVERYTHING), "kind": request.GET.get("kind", "")},
        )
        if request.method == "POST" and form.is_valid():
            silence(
                biz_type_id=form.biz_type_id,
                what=form.what,
                kind=form.cleaned_data["kind"],
                until=form.ends,
                by=actor_of(request),
                reason=form.cleaned_data["reason"],
            )
            messages.success(
                request, _("Nobody is told of such alerts until %(time)s.") % {"time": clock_time(form.ends)}
            )
            return self.to("changelist")
        context = {"form": form, "back": self.address("changelist")}
        return self.own_page(request, "tasksapp/admin/alert_silence.html", _("Silence alerts"), context)

    @at("silence/<int:pk>/end/", posted=True)
    def silence_end_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ends a silence. Raises PermissionDenied, or Http404 where there is none."""
        self._require_silence(request)
        if end_silence(get_object_or_404(AlertSilence, pk=pk), by=actor_of(request)):
            messages.success(request, _("The silence is over: owners are told again."))
        return self.to("changelist")

    @at("<int:pk>/take/", posted=True)
    def take_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Notes that this person sees to an alert, and tells its owner. Raises PermissionDenied or Http404."""
        self._require_silence(request)
        if not take(get_object_or_404(Alert, pk=pk), by=actor_of(request)):
            messages.warning(request, _("It is over, or somebody sees to it already."))
        return self.to("changelist")

    def may_silence(self, request: HttpRequest) -> bool:
        """Whether the person may silence and take alerts: who may pause biz types."""
        return self.may_view(request) and request.user.has_perm(PAUSE)

    def silence_rows(self) -> list[dict[str, Any]]:
        """The silences that are not over, as the page shows them."""
        found = active_silences(using=router.db_for_read(AlertSilence), now=timezone.now())
        codes = BizType.objects.select_related("tenant").in_bulk([row.biz_type_id for row in found if row.biz_type_id])
        return [
            {
                "pk": row.pk,
                "about": _about(row, codes),
                "kind": row.get_kind_display() if row.kind else _("all kinds"),
                "until": clock_time(row.until),
                "by": row.by,
                "reason": row.reason,
                "end_url": self.address("silence_end", row),
            }
            for row in found
        ]

    def _require_silence(self, request: HttpRequest) -> None:
        self.require_view(request)
        if not self.may_silence(request):
            raise PermissionDenied


def _about(row: AlertSilence, codes: dict[int, BizType]) -> str:
    if row.biz_type_id is None:
        return _("the site and all biz types")
    if not row.biz_type_id:
        return _("the site itself")
    return codes[row.biz_type_id].label if row.biz_type_id in codes else str(row.biz_type_id)
