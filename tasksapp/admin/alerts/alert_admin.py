"""Alerts in the admin: open ones, past ones, what became of each message, and a button that tries who is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.access.permissions import TEST_CALL
from tasksapp.admin.alerts.silencing import Silencing
from tasksapp.admin.frame.fragments import address, clock_time, duration, local_time
from tasksapp.admin.frame.own_page import at, own_page
from tasksapp.admin.frame.possible_rows import BoundedPaginator
from tasksapp.admin.frame.requests import row_number
from tasksapp.alerts.composer import Channel, Recipient, owner_of, site_owner
from tasksapp.alerts.outbox import send_test
from tasksapp.alerts.sentences import sentence_of
from tasksapp.conf import options
from tasksapp.models import Alert, AlertMessage, BizType

#: Past alerts on one page; open ones that a page names.
SHOWN, OPEN_SHOWN = 25, 100
#: Biz types with owners that the test's choice offers.
MOST_OWNERS = 200
#: Addresses that one test is sent to: the person waits for it.
MOST_TESTED = 5


class AlertAdmin(Silencing):
    """Alerts. The watch writes them; people look, take and silence them."""

    permission = "tasksapp.view_job"

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
                "silence_url": self.address("silence"),
                "may_test": may_test,
                "test_url": self.address("test"),
                **(extra_context or {}),
            },
        )

    @at("test/", posted=True)
    def test_view(self, request: HttpRequest) -> HttpResponse:
        """Sends a test message at once and says what came of it. Raises PermissionDenied where that is not allowed."""
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
        return self.to("changelist")


def _chosen(value: str) -> BizType | None:
    number = row_number(value)
    return None if number is None else BizType.objects.filter(pk=number).first()


def _say(request: HttpRequest, recipient: Recipient, failure: str) -> None:
    words = {"address": recipient.shown, "error": failure}
    if failure:
        messages.error(request, _("The test message to %(address)s was not sent: %(error)s") % words)
    else:
        messages.success(request, _("The test message to %(address)s is sent.") % words)


#: Messages of one alert that a row names, the newest.
NAMED = 6
#: Open alerts that are counted.
MOST_OPEN = 1_000


class MessageRow(NamedTuple):
    """One message in a sentence, and the colour of it."""

    text: str
    tone: str


def open_alerts() -> list[Alert]:
    """What is wrong now, the newest first; blips that were not told yet are left out."""
    return list(Alert.objects.filter(ended_at=None, told_at__isnull=False)[:MOST_OPEN])


def alert_rows(alerts: Iterable[Alert], *, has_messages: bool, site: str, now: datetime) -> list[dict[str, Any]]:
    """A row for each, as pages show it; its ``url`` is its biz type's page, '' for the whole site.

    Args:
        alerts: the alerts; with their messages prefetched, where rows are to have them.
        has_messages: whether rows name messages.
        site: the name of the admin site.
        now: the present.
    """
    return [
        _row(alert, messages=list(alert.messages.all()) if has_messages else [], site=site, now=now) for alert in alerts
    ]


def _row(alert: Alert, *, messages: Sequence[AlertMessage], site: str, now: datetime) -> dict[str, Any]:
    messages = sorted(messages, key=lambda message: -message.pk)
    lasted = ((alert.ended_at or now) - alert.began_at).total_seconds()
    return {
        "pk": alert.pk,
        "kind": alert.get_kind_display(),
        "sentence": sentence_of(alert.kind, alert.facts),
        "code": str(alert.facts.get("biz_type", "")),
        "url": address("tasksapp_biztype_change", alert.biz_type_id, site=site) if alert.biz_type_id else "",
        "began": local_time(alert.began_at, now=now),
        "lasted": duration(seconds=lasted),
        "returns": _returns(alert.returns),
        "is_confirmed": alert.told_at is not None,
        "is_quiet": alert.is_quiet,
        "taken_by": alert.taken_by,
        "take_url": address("tasksapp_alert_take", alert.pk, site=site),
        "silence_query": f"about={alert.biz_type_id or 'site'}&kind={alert.kind}",
        "messages": [_message(message) for message in messages[:NAMED]],
        "more": max(0, len(messages) - NAMED),
    }


def _returns(times: int) -> str:
    return ngettext("came back %(times)s time", "came back %(times)s times", times) % {"times": times} if times else ""


def _message(message: AlertMessage) -> MessageRow:
    words = {
        "address": Recipient(Channel(message.channel), message.address).shown,
        "time": clock_time(message.sent_at or message.given_up_at or message.next_at or message.created_at),
        "failures": message.failed_sends,
        "error": message.last_error,
    }
    if message.sent_at is not None:
        return MessageRow(_("%(address)s: sent at %(time)s") % words, "good")
    if message.given_up_at is not None:
        return MessageRow(_("%(address)s: given up at %(time)s (%(error)s)") % words, "bad")
    if message.failed_sends:
        text = ngettext(
            "%(address)s: failed %(failures)s time, next at %(time)s (%(error)s)",
            "%(address)s: failed %(failures)s times, next at %(time)s (%(error)s)",
            message.failed_sends,
        )
        return MessageRow(text % words, "warning")
    return MessageRow(_("%(address)s: about to be sent") % words, "")
