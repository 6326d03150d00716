"""Rows of alerts, as pages show them: what is wrong, since when, who sees to it, what became of each message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import address, clock_time, duration, local_time
from tasksapp.alerts.composer import Channel, Recipient
from tasksapp.alerts.sentences import sentence_of
from tasksapp.models import Alert, AlertMessage

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
