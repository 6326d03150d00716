"""Alerts in the admin: open ones, past ones, what became of each message, and a button that tries who is told."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.permissions import TEST_CALL
from tasksapp.admin.alerts.rows import alert_rows
from tasksapp.admin.alerts.silencing import Silencing
from tasksapp.admin.frame.fragments import address
from tasksapp.admin.frame.own_page import own_page
from tasksapp.admin.frame.possible_rows import BoundedPaginator
from tasksapp.admin.frame.requests import row_number
from tasksapp.alerts.composer import Recipient, owner_of, site_owner
from tasksapp.alerts.outbox import send_test
from tasksapp.conf import options
from tasksapp.models import Alert, BizType

#: Past alerts on one page; open ones that a page names.
SHOWN, OPEN_SHOWN = 25, 100
#: Biz types with owners that the test's choice offers.
MOST_OWNERS = 200
#: Addresses that one test is sent to: the person waits for it.
MOST_TESTED = 5


class AlertAdmin(Silencing):
    """Alerts. The watch writes them; people look, take and silence them."""

    permission = "tasksapp.view_job"

    def get_urls(self) -> list[URLPattern]:
        """The page, and what its button posts to."""
        return [
            path("", self.admin_site.admin_view(self.changelist_view), name="tasksapp_alert_changelist"),
            path("test/", self.admin_site.admin_view(self.test_view), name="tasksapp_alert_test"),
            *self.silencing_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The page. Raises PermissionDenied for people who may not see jobs."""
        self.require_view(request)
        site, now = self.admin_site.name, timezone.now()
        rows = Alert.objects.prefetch_related("messages")
        past = BoundedPaginator(rows.filter(ended_at__isnull=False).order_by("-id"), SHOWN)
        page = past.get_page(request.GET.get("page"))
        with_owner = (
            BizType.objects.select_related("tenant").exclude(owner_mail="", owner_url="").order_by("code")[:MOST_OWNERS]
        )
        may_test = request.user.has_perm(TEST_CALL)
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/alerts.html",
            fragment="tasksapp/admin/alert_lists.html",
            title=_("Alerts"),
            context={
                "open_alerts": alert_rows(
                    rows.filter(ended_at=None).order_by("-id")[:OPEN_SHOWN], has_messages=True, site=site, now=now
                ),
                "past_alerts": alert_rows(page, has_messages=True, site=site, now=now),
                "page": page,
                "owner": [recipient.shown for recipient in site_owner()],
                "site_url": options().site_url,
                "owners": [(biz_type.pk, biz_type.label) for biz_type in with_owner] if may_test else [],
                "silences": self.silence_rows(),
                "may_silence": self.may_silence(request),
                "silence_url": address("tasksapp_alert_silence", site=site),
                "may_test": may_test,
                "test_url": address("tasksapp_alert_test", site=site),
                **(extra_context or {}),
            },
        )

    def test_view(self, request: HttpRequest) -> HttpResponse:
        """Sends a test message at once and says what came of it. Raises PermissionDenied where that is not allowed."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        self.require_view(request)
        if not request.user.has_perm(TEST_CALL):
            raise PermissionDenied
        biz_type = _chosen(request.POST.get("biz_type", ""))
        recipients = owner_of(biz_type)
        if not recipients:
            messages.error(
                request, _("There is no owner to send to: the settings name none, and no biz type is chosen.")
            )
        for recipient in recipients[:MOST_TESTED]:
            failure = send_test(recipient, biz_type=biz_type, by=request.user.get_username())
            _say(request, recipient, failure)
        return HttpResponseRedirect(address("tasksapp_alert_changelist", site=self.admin_site.name))


def _chosen(value: str) -> BizType | None:
    number = row_number(value)
    return None if number is None else BizType.objects.filter(pk=number).first()


def _say(request: HttpRequest, recipient: Recipient, failure: str) -> None:
    words = {"address": recipient.shown, "error": failure}
    if failure:
        messages.error(request, _("The test message to %(address)s was not sent: %(error)s") % words)
    else:
        messages.success(request, _("The test message to %(address)s is sent.") % words)
