"""What a post about alerts looks like: our own form, or that of a chat or a pager.

Their own pages have these forms: incoming webhooks of Slack, which Mattermost and others take too; an adaptive card for
Teams' workflows; the Events API v2 of PagerDuty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tasksapp.biz_types.owner_webhook import OwnerWebhook, PostFormat
from tasksapp.conf import options
from tasksapp.models import AlertKind

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
    match address.form:
        case PostFormat.SLACK:
            return [{"text": _escaped(f"*{subject}*\n{text}"[:LONGEST_SLACK])}]
        case PostFormat.TEAMS:
            return [_card(subject, text)]
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
    key = ":".join([_source(), alert["kind"], alert["biz_type"] or "site"])
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
