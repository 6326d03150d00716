"""Sends one message, by mail or as a signed post through the address guard; a failure is a sentence, no exception.

A post has our own form, or that of a chat or a pager, as their own pages say: incoming webhooks of Slack, which
Mattermost and others take too; an adaptive card for Teams' workflows; the Events API v2 of PagerDuty.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from email.utils import make_msgid
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from tasksapp.alerts.composer import SUBJECT, Channel, Composed
from tasksapp.biz_types.owner_webhook import OwnerWebhook, PostFormat, owner_webhook
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Target
from tasksapp.delivery.outcomes import GiveUp, Retry, Returned, Snooze
from tasksapp.delivery.single_callback import send_single
from tasksapp.models import AlertKind

#: How long a mail server or a receiver may take to answer.
SECONDS = 10.0
#: As much of a failure is kept.
LONGEST_ERROR = 500
_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def send(message: Composed, *, secrets: Sequence[str] = ()) -> str:
    """Why the message was not sent; '' where it was.

    Args:
        message: the message.
        secrets: what a post is signed with; none: it is not signed.
    """
    if message.recipient.channel == Channel.MAIL:
        return _send_mail(message)[:LONGEST_ERROR]
    return asyncio.run(_post(message, secrets))[:LONGEST_ERROR]


def _send_mail(message: Composed) -> str:
    more: dict[str, Any] = (
        {"timeout": SECONDS} if settings.EMAIL_BACKEND == _SMTP and not settings.EMAIL_TIMEOUT else {}
    )
    try:
        mail = EmailMessage(
            # A line break in it would be another header.
            subject=" ".join(message.subject.split()),
            body=message.text,
            to=[message.recipient.address],
            # The same at each try: mail servers and readers recognise a message that came twice.
            headers={"Message-ID": _message_id(message.uid), "Auto-Submitted": "auto-generated"},
            connection=get_connection(**more),
        )
        mail.send()
    except Exception as error:  # also what a backend of another package raises
        return f"{type(error).__name__}: {error}"
    return ""


def _message_id(uid: UUID) -> str:
    host = urlsplit(options().site_url or "").hostname or make_msgid().rpartition("@")[2].rstrip(">")
    return f"<{uid}@{host}>"


async def _post(message: Composed, secrets: Sequence[str]) -> str:
    known, address = options(), owner_webhook(message.recipient.address)
    target = Target(
        biz_type="delayhub.alerts",
        url=address.url,
        host=urlsplit(address.url).netloc,
        secrets=tuple(secrets),
        timeout_seconds=SECONDS,
    )
    for body in bodies(address, subject=message.subject, text=message.text, payload=message.payload):
        result = await send_single(
            target,
            json.dumps(body, ensure_ascii=False).encode(),
            message_id=str(message.uid),
            guard=AddressGuard(known.allowed_networks),
            response_bytes=known.response_bytes,
        )
        match result.outcome:
            case Retry(reason=reason) | Snooze(reason=reason) | GiveUp(reason=reason) | Returned(reason=reason):
                return reason
    return ""


#: Longer texts are cut: Slack takes 40 000 characters, a card of Teams 28 kB of JSON, a summary of PagerDuty 1 024.
LONGEST_SLACK, LONGEST_CARD, LONGEST_SUMMARY = 30_000, 7_000, 1_000
#: What PagerDuty is to do with what it knows of.
_ACTIONS = {"over": "resolve", "taken": "acknowledge"}
_SITE_KINDS = {AlertKind.DATABASE_AWAY, AlertKind.REDIS_AWAY, AlertKind.NOT_DELIVERING}


def bodies(address: OwnerWebhook, *, subject: str, text: str, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The bodies to post, as JSON, in order; several only for PagerDuty, which takes one alert at a time.

    Args:
        address: to whom.
        subject: the message in a line.
        text: the whole message.
        payload: what a program gets.
    """
    # Of a single alert the subject is the first line, too: a chat shows both.
    rest = text.removeprefix(f"{subject.removeprefix(SUBJECT)}\n")
    match address.form:
        case PostFormat.SLACK:
            return [{"text": _escaped(f"*{subject}*\n{rest}"[:LONGEST_SLACK])}]
        case PostFormat.TEAMS:
            return [_card(subject, rest)]
        case PostFormat.PAGERDUTY:
            alerts = payload["data"].get("alerts")
            found = _trial(payload) if alerts is None else [_event(alert) for alert in alerts]
            return [{"routing_key": address.key, **event} for event in found]
    return [dict(payload)]


def _escaped(text: str) -> str:
    """Slack reads ``<!channel>`` and the like; names in an alert are others' words."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _card(subject: str, text: str) -> dict[str, Any]:
    blocks = [
        {"type": "TextBlock", "text": subject, "weight": "bolder", "wrap": True},
        {"type": "TextBlock", "text": text[:LONGEST_CARD], "wrap": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def _event(alert: Mapping[str, Any]) -> dict[str, Any]:
    """One alert as an event of PagerDuty; an alert that comes again has the same key."""
    # Not by the code, which may be changed while the alert is open.
    key = f"{_source()}:{alert['kind']}:{alert.get('biz_type_id') or alert['biz_type'] or 'site'}"
    if action := _ACTIONS.get(alert["event"]):
        return {"event_action": action, "dedup_key": key}
    return _trigger(
        key,
        summary=alert["sentence"],
        severity="critical" if alert["kind"] in _SITE_KINDS else "error",
        at=alert["began_at"],
        more={"component": alert["biz_type"], "class": alert["kind"], "custom_details": alert["facts"]},
    )


def _trial(payload: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """A test: an incident that is over at once."""
    key = f"{_source()}:test"
    begun = _trigger(key, summary=payload["data"]["sentence"], severity="info", at=payload["timestamp"], more={})
    return [begun, {"event_action": "resolve", "dedup_key": key}]


def _trigger(key: str, *, summary: str, severity: str, at: str, more: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in more.items() if value}
    site = options().site_url
    return {
        "event_action": "trigger",
        "dedup_key": key,
        "payload": {
            "summary": summary[:LONGEST_SUMMARY],
            "source": _source(),
            "severity": severity,
            "timestamp": at,
            **told,
        },
        **({"client": "DelayHub", "client_url": site} if site else {}),
    }


def _source() -> str:
    """Which site it is, for those who have several: its host, or its cell."""
    known = options()
    return urlsplit(known.site_url or "").hostname or known.cell or "delayhub"
