"""Pausing and resuming biz types: pages of their own, which ask why and until when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.frame.fields import UntilForm
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of, row_number
from tasksapp.biz_types import verbs
from tasksapp.models import UNTIL_RESUMED, BizType

#: The parameter that names the biz types of one page, and how many there may be.
IDS, MOST = "ids", 200
#: The choice of an end that is no length of time.
RESUMED = "resumed"


class PauseForm(UntilForm):
    """Until when, or until somebody resumes it, and why."""

    reason_help = gettext_lazy("Everybody reads it who asks why jobs wait, such as: db move.")
    lengths = [(RESUMED, gettext_lazy("until somebody resumes it")), *UntilForm.lengths]

    @property
    def ends(self) -> datetime:
        """When the pause ends."""
        return UNTIL_RESUMED if self.cleaned_data["length"] == RESUMED else super().ends


class Pausing(BizTypePages):
    """The part of the biz type admin that pauses and resumes."""

    actions = ["pause", "resume"]

    @at("<int:biz_type_id>/pause/")
    def pause_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Asks why and until when; pauses the biz type.

        Raises PermissionDenied without the permission to pause, Http404 where there is no such biz type.
        """
        biz_type = self.found(biz_type_id, allowed=self.has_pause_permission(request))
        form = PauseForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._pause([biz_type.pk], form, request)
            return self.to("change", biz_type)
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_pause.html",
            title=_("Pause %(biz_type)s") % {"biz_type": biz_type.label},
            context={"form": form, "paused": [biz_type]},
        )

    @at("pause/")
    def pause_several_view(self, request: HttpRequest) -> HttpResponse:
        """Asks once for all biz types that the address names.

        Raises PermissionDenied without the permission to pause.
        """
        if not self.has_pause_permission(request):
            raise PermissionDenied
        given = request.POST if request.method == "POST" else request.GET
        keys = [number for text in given.getlist(IDS)[:MOST] if (number := row_number(text)) is not None]
        found = list(BizType.objects.select_related("tenant").filter(pk__in=keys))
        if not found:
            return self.to("changelist")
        form = PauseForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            self._pause([biz_type.pk for biz_type in found], form, request)
            return self.to("changelist")
        title = ngettext("Pause %(count)s biz type", "Pause %(count)s biz types", len(found)) % {"count": len(found)}
        context = {"form": form, "paused": found, "several": True, "back": self.address("changelist")}
        return self.own_page(request, "tasksapp/admin/biz_type_pause.html", title, context)

    @at("<int:biz_type_id>/resume/")
    def resume_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Says what resuming does; resumes the biz type.

        Raises PermissionDenied without the permission to pause, Http404 where there is no such biz type.
        """
        biz_type = self.found(biz_type_id, allowed=self.has_pause_permission(request))
        if request.method == "POST":
            with transaction.atomic():
                biz_type = self.found(biz_type_id, allowed=True, lock=True)
                resumed = verbs.resume(biz_type, by=actor_of(request))
            self._say_resumed(request, int(resumed))
            return self.to("change", biz_type)
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_resume.html",
            title=_("Resume %(biz_type)s") % {"biz_type": biz_type.label},
            context={},
        )

    @admin.action(description=gettext_lazy("Pause …"), permissions=["pause"])
    def pause(self, request: HttpRequest, queryset: QuerySet[BizType]) -> HttpResponse:
        """Leads to the page that asks why and until when, for all chosen biz types at once."""
        chosen = list(queryset.values_list("pk", flat=True)[:MOST])
        query = urlencode([(IDS, key) for key in chosen])
        return HttpResponseRedirect(f"{self.address('pause_several')}?{query}")

    @admin.action(description=gettext_lazy("Resume"), permissions=["pause"])
    def resume(self, request: HttpRequest, queryset: QuerySet[BizType]) -> None:
        """Lets the jobs of the chosen biz types run again, slowly at first."""
        resumed = sum(verbs.resume(biz_type, by=actor_of(request)) for biz_type in queryset)
        self._say_resumed(request, resumed)

    def _pause(self, ids: Sequence[int], form: PauseForm, request: HttpRequest) -> None:
        with transaction.atomic():
            rows = list(BizType.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
            for biz_type in rows:
                verbs.pause(biz_type, until=form.ends, by=actor_of(request), reason=form.cleaned_data["reason"])
        said = ngettext(
            "%(count)s biz type is paused. New jobs are still taken; they wait.",
            "%(count)s biz types are paused. New jobs are still taken; they wait.",
            len(rows),
        )
        self.message_user(request, said % {"count": len(rows)}, messages.SUCCESS)

    def _say_resumed(self, request: HttpRequest, count: int) -> None:
        if not count:
            self.message_user(request, _("None of them was paused."), messages.WARNING)
            return
        said = ngettext(
            "%(count)s biz type is resumed. What waits goes out slowly first, and faster every 2 seconds.",
            "%(count)s biz types are resumed. What waits goes out slowly first, and faster every 2 seconds.",
            count,
        )
        self.message_user(request, said % {"count": count}, messages.SUCCESS)
