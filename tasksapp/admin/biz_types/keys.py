"""The page of a biz type's flow keys: which have most jobs that wait, and which are paused."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.biz_types.pause import PauseForm
from tasksapp.admin.frame.fields import written_flow_key
from tasksapp.admin.frame.fragments import address, clock_time, jobs_address, number
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.biz_types import flow_keys
from tasksapp.errors import AWAY
from tasksapp.models import UNTIL_RESUMED, BizType, PausedKey, Status

#: Paused keys that the page lists.
MOST_PAUSED = 200


class KeyForm(PauseForm):
    """Which key is paused, until when, and why."""

    flow_key = forms.CharField(label=gettext_lazy("Flow key"), max_length=100)

    def clean_flow_key(self) -> str:
        """The key, which must be one that a job may have."""
        return written_flow_key(self.cleaned_data["flow_key"])


class KeyRow(NamedTuple):
    """A row of the page.

    Args:
        key: the flow key.
        waiting: how many of its jobs have a timer.
        due: how many of them are due.
        in_flight: how many callbacks wait for their answers; '' where keys have no limit of that.
        note: what holds it back; '' for nothing.
        jobs_url: the list of its jobs that wait.
        is_paused: whether a person paused it.
    """

    key: str
    waiting: str
    due: str
    in_flight: str
    note: str
    jobs_url: str
    is_paused: bool


class FlowKeyPages(BizTypePages):
    """The part of the biz type admin that shows, pauses and resumes flow keys."""

    @at("<int:biz_type_id>/keys/")
    def keys_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """The keys with most jobs that wait; pauses a key.

        Raises PermissionDenied for people who may not see biz types, Http404 where there is no such biz type.
        """
        may_pause = self.has_pause_permission(request)
        may = may_pause if request.method == "POST" else self.has_view_permission(request)
        biz_type = self.found(biz_type_id, allowed=may)
        form = KeyForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            flow_keys.pause_key(
                biz_type, given["flow_key"], until=form.ends, by=actor_of(request), reason=given["reason"]
            )
            said = _("The flow key %(key)s is paused. Its jobs wait; those of other keys go on.")
            self.message_user(request, said % {"key": given["flow_key"]}, messages.SUCCESS)
            return self.to("keys", biz_type)
        return self._page(request, biz_type, form=form if may_pause else None)

    @at("<int:biz_type_id>/keys/resume/")
    def resume_key_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Resumes the key that the form names. Raises PermissionDenied without the permission to pause."""
        biz_type = self.found(biz_type_id, allowed=self.has_pause_permission(request))
        key = request.POST.get("flow_key", "")[:100]
        if request.method == "POST" and "\0" not in key:
            if flow_keys.resume_key(biz_type, key, by=actor_of(request)):
                said = _("The flow key %(key)s is resumed. Its jobs go out again, within its limits.")
                self.message_user(request, said % {"key": key}, messages.SUCCESS)
            else:
                self.message_user(request, _("This flow key was not paused."), messages.WARNING)
        return self.to("keys", biz_type)

    def _page(self, request: HttpRequest, biz_type: BizType, *, form: KeyForm | None) -> HttpResponse:
        asked, fault, look = request.GET.get("key", ""), "", None
        try:
            asked = written_flow_key(asked)
        except ValidationError as error:
            asked, fault = "", str(error.message)
        try:
            look = flow_keys.look_at_keys(biz_type, flow_key=asked)
        except AWAY:
            fault = fault or _("Redis does not answer, so it is not known how many jobs of each key wait.")
        paused = flow_keys.paused_keys(biz_type, most=MOST_PAUSED)
        known = {one.flow_key: one for one in paused}
        context: dict[str, Any] = {
            "rows": [self._row(biz_type, each, known.get(each.key)) for each in (look.keys if look else ())],
            "is_whole": look is None or look.is_whole,
            "most_counted": number(flow_keys.MOST_COUNTED),
            "paused": [(one, _ends(one)) for one in paused],
            "is_ordered": biz_type.is_ordered,
            "blocked": [
                (
                    job.flow_key,
                    address("tasksapp_job_change", job.id, site=self.admin_site.name),
                    job.id,
                    Status(job.status).label,
                )
                for job in flow_keys.blocked_keys(biz_type, flow_key=asked)
            ],
            "asked": asked,
            "fault": fault,
            "form": form,
            "has_limit": biz_type.key_max_in_flight is not None,
            "resume_url": self.address("resume_key", biz_type) if form is not None else "",
            "limits_url": f"{self.address('change', biz_type)}?tab=limits",
        }
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_keys.html",
            title=_("Flow keys of %(biz_type)s") % {"biz_type": biz_type.label},
            context=context,
            tab="keys",
        )

    def _row(self, biz_type: BizType, each: flow_keys.KeyNumbers, paused: PausedKey | None) -> KeyRow:
        site = self.admin_site.name
        jobs = jobs_address(site=site, tab="pending", biz_type=biz_type.label, flow_key=each.key)
        held_back = each.due and each.turn_ms > timezone.now().timestamp() * 1000 + 1000
        note = _("paused") if paused else _("held back by its limits") if held_back else ""
        in_flight = number(each.in_flight) if biz_type.key_max_in_flight is not None else ""
        return KeyRow(each.key, number(each.waiting), number(each.due), in_flight, note, jobs, paused is not None)


def _ends(paused: PausedKey) -> str:
    if paused.until == UNTIL_RESUMED:
        return _("until somebody resumes it")
    return _("until %(time)s") % {"time": clock_time(paused.until)}
