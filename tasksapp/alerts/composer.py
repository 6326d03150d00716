"""Composes messages: one for each recipient, who is the owner, with all that there is to say to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delayhub.secrecy import host_of
from tasksapp.alerts.book import Event, What
from tasksapp.alerts.sentences import in_messages_language, sentence_of
from tasksapp.biz_types.owner_webhook import PostFormat, owner_webhook
from tasksapp.biz_types.validation import mail_addresses
from tasksapp.conf import address_on_site, options
from tasksapp.models import Alert, AlertKind, AlertMessage, BizType

#: Alerts that one message names; it says how many more there are.
NAMED = 50
#: Biz types that one line names.
NAMED_TOGETHER = 5
#: What each subject begins with.
SUBJECT = "[DelayHub] "
#: As long as subjects are kept.
LONGEST_SUBJECT = 300
#: The ``type`` of what is posted to webhooks.
ALERTS, TEST = "delayhub.alerts", "delayhub.test"
Channel = AlertMessage.Channel


@dataclass(frozen=True, kw_only=True, slots=True)
class Composed:
    """A message that is not stored yet."""

    recipient: Recipient
    subject: str
    text: str
    payload: dict[str, Any]
    alerts: Sequence[Alert] = ()
    uid: UUID = field(default_factory=uuid4)

    def row(self, *, now: datetime) -> AlertMessage:
        """The row that waits to be sent."""
        channel, address = self.recipient
        return AlertMessage(
            uid=self.uid,
            channel=channel,
            address=address,
            subject=self.subject[:LONGEST_SUBJECT],
            text=self.text,
            payload=self.payload,
            created_at=now,
            next_at=now,
        )


def compose(
    events: Iterable[Event],
    biz_types: Mapping[int, BizType],
    *,
    told: Mapping[int, Sequence[Recipient]] | None = None,
    now: datetime,
) -> list[Composed]:
    """A message for each recipient of the events.

    Args:
        events: what is to be said.
        biz_types: by id, those of the events.
        told: by the id of its alert, who hears an event beside the owner of now.
        now: the present.
    """
    by_recipient: dict[Recipient, list[Event]] = defaultdict(list)
    for event in events:
        others = (told or {}).get(event.alert.pk, ())
        for recipient in dict.fromkeys([*owner_of(biz_types.get(event.alert.biz_type_id)), *others]):
            by_recipient[recipient].append(event)
    with in_messages_language():
        return [
            _composed(recipient, part, now=now)
            for recipient, group in by_recipient.items()
            for part in _parts(recipient, group)
        ]


def _parts(recipient: Recipient, events: Sequence[Event]) -> list[Sequence[Event]]:
    """The events of each message: all in one, but for a pager, which must hear of each that begins and ends."""
    if recipient.channel == Channel.MAIL or owner_webhook(recipient.address).form is not PostFormat.PAGERDUTY:
        return [events]
    return [events[begin : begin + NAMED] for begin in range(0, len(events), NAMED)]


def compose_test(recipient: Recipient, *, biz_type: BizType | None, by: str, now: datetime) -> Composed:
    """A message that says only that messages arrive."""
    with in_messages_language():
        words = {"actor": by, "biz_type": biz_type.label if biz_type else ""}
        sentence = (
            _("This is a test by %(actor)s: alerts about %(biz_type)s come to this address.")
            if biz_type
            else _("This is a test by %(actor)s: alerts about the site come to this address.")
        ) % words
        text = "\n\n".join([sentence, *_footer()]) + "\n"
        payload = {"type": TEST, "timestamp": now.isoformat(), "data": {"sentence": sentence}}
        if biz_type is not None:
            payload["data"] = {"sentence": sentence, "biz_type": biz_type.label}
        return Composed(recipient=recipient, subject=_("[DelayHub] Test message"), text=text, payload=payload)


def _composed(recipient: Recipient, events: Sequence[Event], *, now: datetime) -> Composed:
    alerts, causes = [event.alert for event in events], _causes(events)
    return Composed(
        recipient=recipient,
        subject=_subject(causes),
        text=_text(causes),
        payload={
            "type": ALERTS,
            "timestamp": now.isoformat(),
            "data": {"alerts": [_as_json(event) for event in events[:NAMED]], "count": len(events)},
        },
        alerts=alerts,
    )


def _causes(events: Sequence[Event]) -> list[Sequence[Event]]:
    """The events of one cause together: a receiver that is down for several biz types is said once."""
    found: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        facts = event.alert.facts
        is_down = event.alert.kind == AlertKind.BREAKER_OPEN and "no_token" not in facts
        host = facts.get("host") if is_down else None
        found[(event.what, host, event.alert.taken_by) if host else id(event)].append(event)
    return list(found.values())


def _subject(causes: Sequence[Sequence[Event]]) -> str:
    if len(causes) == 1:
        return f"{SUBJECT}{_line(causes[0])}"
    over = sum(events[0].what is What.OVER for events in causes)
    words = {"number": f"{len(causes):,}", "over": f"{over:,}", "wrong": f"{len(causes) - over:,}"}
    if not over:
        return SUBJECT + ngettext("%(number)s alert", "%(number)s alerts", len(causes)) % words
    if over == len(causes):
        return SUBJECT + _("%(number)s alerts are over") % words
    return SUBJECT + _("%(wrong)s alerts, and %(over)s are over") % words


def _line(events: Sequence[Event]) -> str:
    """The events of one cause in a line."""
    event = events[0]
    sentence = sentence_of(event.alert.kind, event.alert.facts)
    if len(events) > 1:
        codes = [str(each.alert.facts.get("biz_type", "?")) for each in events]
        more = f" (+{len(codes) - NAMED_TOGETHER})" if len(codes) > NAMED_TOGETHER else ""
        sentence = _("%(biz_types)s: their receiver %(host)s is down. Their jobs wait until it answers.") % {
            "biz_types": ", ".join(codes[:NAMED_TOGETHER]) + more,
            "host": event.alert.facts["host"],
        }
    match event.what:
        case What.STAYS:
            return _("Still: %(sentence)s") % {"sentence": sentence}
        case What.OVER:
            return _("Over: %(sentence)s") % {"sentence": sentence}
        case What.TAKEN:
            return _("%(person)s sees to it: %(sentence)s") % {"person": event.alert.taken_by, "sentence": sentence}
    if event.alert.returns:
        return _("Again: %(sentence)s") % {"sentence": sentence}
    return sentence


def _text(causes: Sequence[Sequence[Event]]) -> str:
    parts = [f"{_line(events)}\n{_when(events[0])}" for events in causes[:NAMED]]
    if len(causes) > NAMED:
        more = len(causes) - NAMED
        parts.append(ngettext("And %(number)s more.", "And %(number)s more.", more) % {"number": f"{more:,}"})
    if any(event.alert.returns and event.what is not What.OVER for events in causes for event in events):
        minutes = max(1, round(options().alert_calm_seconds / 60))
        parts.append(
            ngettext(
                "What comes back soon is over only when it has stayed away for %(minutes)s minute.",
                "What comes back soon is over only when it has stayed away for %(minutes)s minutes.",
                minutes,
            )
            % {"minutes": minutes}
        )
    return "\n\n".join([*parts, *_footer()]) + "\n"


def _when(event: Event) -> str:
    alert = event.alert
    if alert.ended_at is None:
        return _("since %(began)s") % {"began": _time(alert.began_at)}
    return _("from %(began)s to %(ended)s") % {"began": _time(alert.began_at), "ended": _time(alert.ended_at)}


def _footer() -> list[str]:
    """Where to look, if the settings say where the site is."""
    try:
        address = address_on_site("admin:tasksapp_alert_changelist")
    except NoReverseMatch:  # a site without the admin
        address = options().site_url or ""
    return [address] if address else []


def _as_json(event: Event) -> dict[str, Any]:
    alert = event.alert
    return {
        "id": alert.pk,
        "event": event.what.value,
        "kind": alert.kind,
        "biz_type": alert.facts.get("biz_type"),
        "biz_type_id": alert.biz_type_id or None,
        "sentence": sentence_of(alert.kind, alert.facts),
        "facts": alert.facts,
        "began_at": alert.began_at.isoformat(),
        "ended_at": None if alert.ended_at is None else alert.ended_at.isoformat(),
        "returns": alert.returns,
        "taken_by": alert.taken_by or None,
    }


def _time(at: datetime) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}"


class Recipient(NamedTuple):
    """An address, and how it is reached."""

    channel: Channel
    address: str

    @property
    def shown(self) -> str:
        """A mail address, or the host of a webhook: the rest of such an address is often a secret."""
        return self.address if self.channel == Channel.MAIL else host_of(self.address)


def site_owner() -> list[Recipient]:
    """The owner of the site; empty where the settings name none."""
    known = options()
    mails = [Recipient(Channel.MAIL, address) for address in known.owner_mail]
    return mails + ([Recipient(Channel.WEBHOOK, known.owner_url)] if known.owner_url else [])


def owner_of(biz_type: BizType | None) -> list[Recipient]:
    """The owner of the biz type; that of the site where it has none, and for None."""
    if biz_type is None:
        return site_owner()
    mails = [Recipient(Channel.MAIL, address) for address in mail_addresses(biz_type.owner_mail)]
    own = mails + ([Recipient(Channel.WEBHOOK, biz_type.owner_url)] if biz_type.owner_url else [])
    return own or site_owner()
