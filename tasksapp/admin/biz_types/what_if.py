"""What if …: other limits of a biz type, and what they would change, before they are saved."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.biz_types.texts import HELP, LABELS, UNITS
from tasksapp.admin.frame.fields import UnitInput
from tasksapp.admin.frame.fragments import clock_time, duration, number
from tasksapp.admin.frame.job_charts import next_chart
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.frame.stale_form import StaleForm, submitted
from tasksapp.biz_types import verbs
from tasksapp.biz_types.validation import complaints
from tasksapp.models import BizType
from tasksapp.stats.capacity import Limit
from tasksapp.stats.drain import Drain, Known, forecast, peaks_with, read_known
from tasksapp.stats.drain_sentences import pace_of

#: Peaks of the next day that the page names.
PEAKS = 5


class LimitsForm(StaleForm):
    """The limits that a forecast follows from, and their neighbours."""

    class Meta:
        model = BizType
        fields = ["delivery_rate", "delivery_burst", "max_in_flight", "weight"]
        labels = LABELS
        help_texts = HELP
        widgets = {
            name: UnitInput(unit=UNITS[name][0], step=UNITS[name][1])
            for name in ("delivery_rate", "delivery_burst", "max_in_flight", "weight")
        }

    def clean(self) -> dict[str, Any]:
        """The limits; the biz type must be valid with them."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            for name, message in complaints(BizType(**cleaned)).items():
                if name in self.fields:
                    self.add_error(name, message)
        return cleaned


class WhatIf(BizTypePages):
    """The part of the biz type admin that shows what other limits would do."""

    @at("<int:biz_type_id>/what_if/")
    def what_if_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Shows the forecast as it is and with the limits in the address; stores those that are posted.

        Raises PermissionDenied without the permission to view biz types, or to change them where limits are posted,
        and Http404 where there is no such biz type.
        """
        may_change = self.has_change_permission(request)
        if request.method == "POST":
            with transaction.atomic():
                biz_type = self.found(biz_type_id, allowed=may_change, lock=True)
                form = LimitsForm(request.POST, instance=biz_type)
                if form.is_valid():
                    verbs.edit(biz_type, form.changed_data, by=actor_of(request))
                    said = _("The limits are saved; workers use them within a second.")
                    self.message_user(request, said, messages.SUCCESS)
                    return self.to("what_if", biz_type)
        else:
            biz_type = self.found(biz_type_id, allowed=self.has_view_permission(request))
            form = LimitsForm(_asked(request, biz_type), instance=biz_type)
        stored = BizType.objects.get(pk=biz_type.pk)  # the form has put the typed values into the other one
        context = {"form": form, "may_change": may_change, **_columns(stored, form, now=timezone.now())}
        return self.biz_type_page(
            request,
            stored,
            template="biz_type_what_if.html",
            title=_("What if … %(biz_type)s") % {"biz_type": stored.label},
            context=context,
        )


def _asked(request: HttpRequest, biz_type: BizType) -> QueryDict | None:
    """The limits in the address, with what they were when the person first saw them; None where it has none."""
    if not set(request.GET) & set(LimitsForm.Meta.fields):
        return None
    asked = request.GET.copy()
    for bound in LimitsForm(instance=biz_type):
        for name, value in submitted(bound.field, bound.html_initial_name, bound.initial).items():
            asked.setdefault(name, value)
    return asked


def _columns(biz_type: BizType, form: LimitsForm, *, now: datetime) -> dict[str, Any]:
    """The forecast as it is, and beside it with the typed limits, where those can be."""
    known = read_known(biz_type)
    columns = [_column(_("Now"), biz_type, known, biz_type.delivery_rate, biz_type.max_in_flight, now=now)]
    if form.is_bound and form.is_valid() and form.changed_data:
        rate, slots = form.cleaned_data["delivery_rate"], form.cleaned_data["max_in_flight"]
        columns.append(_column(_("With these limits"), biz_type, known, rate, slots, now=now))
    return {
        "columns": columns,
        "is_changed": len(columns) > 1,
        "next_chart": next_chart(biz_type, now=now),
        "due_now": number(known.counts.of(biz_type.pk).due_now, bound=known.counts.bound),
        "measured": known.measured.attempts > 0,
        "has_key_limits": biz_type.has_key_limits,
    }


def _column(
    title: str, biz_type: BizType, known: Known, rate: float | None, slots: int | None, *, now: datetime
) -> dict[str, Any]:
    drain = forecast(biz_type, now=now, delivery_rate=rate, max_in_flight=slots, known=known)
    peaks = peaks_with(biz_type, known=known, now=now, delivery_rate=rate, max_in_flight=slots)
    return {
        "title": title,
        "limits": _limits(rate, slots),
        "pace": _("%(number)s jobs per second") % {"number": pace_of(drain.capacity_per_second)},
        "limited_by": _limited_by(drain.limited_by),
        "empty_at": _empty_at(drain, now=now),
        "peak": duration(seconds=drain.peak_lateness_seconds) if drain.peak_lateness_seconds >= 1 else _("none"),
        "ahead": [peak.sentence for peak in peaks[:PEAKS]],
    }


def _limits(rate: float | None, slots: int | None) -> str:
    shown_rate = _("%(rate)s per second") % {"rate": f"{rate:,.10g}"} if rate is not None else _("no rate limit")
    shown_slots = _("%(count)s in flight") % {"count": number(slots)} if slots is not None else _("no limit in flight")
    return _("%(rate)s, %(slots)s") % {"rate": shown_rate, "slots": shown_slots}


def _limited_by(limit: Limit) -> str:
    return {
        Limit.RATE: _("the delivery rate"),
        Limit.SLOTS: _("the callbacks in flight"),
        Limit.WORKERS: _("what the workers have done so far"),
        Limit.UNKNOWN: _("not measured yet, so this is a guess"),
    }[limit]


def _empty_at(drain: Drain, *, now: datetime) -> str:
    """When no due job waits any more: a time, or from when to when, or that it is not known."""
    if drain.empty_at is None:
        return drain.sentence
    if drain.empty_at <= now:
        return _("nothing waits")
    earliest, latest = drain.earliest, drain.latest
    if earliest is None or latest is None:
        return clock_time(drain.empty_at)
    if latest - earliest < timedelta(seconds=2):
        return clock_time(drain.empty_at)
    words = {
        "time": clock_time(drain.empty_at),
        "in": duration(seconds=(drain.empty_at - now).total_seconds()),
        "earliest": clock_time(earliest),
        "latest": clock_time(latest),
    }
    if latest - earliest <= (drain.empty_at - now) * 0.2:
        return _("%(time)s, in %(in)s (give or take 5 %%)") % words
    return _("between %(earliest)s and %(latest)s: part of it is not known") % words
