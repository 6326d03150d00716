"""Outbox: messages wait in the database until they were sent; failed ones are tried again, later and later."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import router
from django.db.models import F, Q
from django.utils import timezone

from tasksapp.alerts.book import Event, What
from tasksapp.alerts.composer import Channel, Composed, Recipient, compose_test
from tasksapp.alerts.sending import send
from tasksapp.biz_types.owner_webhook import PostFormat, owner_webhook
from tasksapp.biz_types.target import target_of
from tasksapp.conf import options
from tasksapp.models import Alert, AlertMessage, BizType
from tasksapp.models.encrypted_text import SecretUnreadable

logger = logging.getLogger(__name__)

#: A message belongs to the process that sends it for so long; then another one may try.
CLAIM = timedelta(seconds=60)
#: The wait after the first failure; it doubles with each, up to the longest.
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
#: A message is given up when it is so old.
PATIENCE = timedelta(days=1)
#: Messages that one turn sends.
MOST = 20


def put(messages: Iterable[Composed], *, now: datetime, using: str) -> int:
    """Stores messages to be sent; how many. Raises what the database raises."""
    count = 0
    for composed in messages:
        row = composed.row(now=now)
        row.save(using=using)
        row.alerts.set(alert for alert in composed.alerts if alert.pk)
        count += 1
    return count


def told_of_their_begin(events: Iterable[Event], *, using: str) -> dict[int, list[Recipient]]:
    """By its id, who was told of each alert that is over: its owner may be another one by now."""
    over = [event.alert.pk for event in events if event.what is What.OVER]
    rows = AlertMessage.objects.using(using).filter(alerts__in=over, given_up_at=None).order_by("id")
    found: dict[int, list[Recipient]] = defaultdict(list)
    for alert_id, channel, address in rows.values_list("alerts", "channel", "address") if over else ():
        found[alert_id].append(Recipient(Channel(channel), address))
    return found


def send_due(*, using: str, now: datetime | None = None) -> int:
    """Sends what is due; how many were sent. Raises what the database raises.

    Args:
        using: the database.
        now: the present, where it is not that of the machine.
    """
    at = now or timezone.now()
    rows = AlertMessage.objects.using(using)
    sent = 0
    for row in rows.filter(next_at__lte=at).order_by("next_at")[:MOST]:
        claimed = rows.filter(pk=row.pk, next_at=row.next_at).update(next_at=at + CLAIM)
        if claimed:
            sent += deliver(row, using=using, now=at)
    return sent


def send_test(recipient: Recipient, *, biz_type: BizType | None, by: str) -> str:
    """Sends a test message at once, once, and keeps it; why it was not sent, '' where it was.

    Args:
        recipient: who gets it.
        biz_type: the biz type whose alerts come there; None for those of the site.
        by: who sends it.
    """
    now = timezone.now()
    composed = compose_test(recipient, biz_type=biz_type, by=by, now=now)
    row = composed.row(now=now)
    row.next_at = None
    using = router.db_for_write(AlertMessage)
    row.last_error = _sent(composed, using=using)
    if row.last_error:
        row.failed_sends, row.given_up_at = 1, now
    else:
        row.sent_at = now
    row.save(using=using)
    return row.last_error


def deliver(row: AlertMessage, *, using: str, now: datetime) -> bool:
    """Sends one message and notes what came of it; whether it was sent. Raises what the database raises."""
    recipient = Recipient(Channel(row.channel), row.address)
    payload = _still_so(row, using=using)
    composed = Composed(recipient=recipient, subject=row.subject, text=row.text, payload=payload, uid=row.uid)
    failure = _sent(composed, using=using)
    noted = AlertMessage.objects.using(using).filter(pk=row.pk)
    if not failure:
        noted.update(sent_at=now, next_at=None, last_error="")
        return True
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(row.failed_sends, 20))
    is_over = now + wait > row.created_at + PATIENCE
    noted.update(
        failed_sends=F("failed_sends") + 1,
        last_error=failure,
        next_at=None if is_over else now + wait,
        given_up_at=now if is_over else None,
    )
    logger.warning(
        "an alert was not sent by %s%s: %s",
        row.channel,
        ", and is given up" if is_over else f", trying again in {wait.total_seconds():g} s",
        failure,
        extra={"action": "alert"},
    )
    return False


def _still_so(row: AlertMessage, *, using: str) -> dict[str, Any]:
    """What the message says; to a pager, which may be reached late, no begin of what is over or end of what is back."""
    payload: dict[str, Any] = row.payload
    if row.channel == Channel.MAIL or owner_webhook(row.address).form is not PostFormat.PAGERDUTY:
        return payload
    alerts = {alert.key: alert for alert in row.alerts.using(using)}
    is_open = Q(ended_at=None, told_at__isnull=False, is_quiet=False)
    back = {alert.key for alert in Alert.objects.using(using).filter(is_open).exclude(pk__in=row.alerts.using(using))}

    def is_so(event: dict[str, Any]) -> bool:
        key = event["kind"], event.get("biz_type_id") or 0  # an earlier release wrote none
        if event["event"] == What.OVER:
            return key not in back
        return key not in alerts or alerts[key].is_open

    said = [event for event in payload["data"]["alerts"] if is_so(event)]
    return {**payload, "data": {**payload["data"], "alerts": said}}


def _sent(composed: Composed, *, using: str) -> str:
    """Why the message was not sent; '' where it was."""
    is_post = composed.recipient.channel == Channel.WEBHOOK
    about = {alert.get("biz_type_id") for alert in composed.payload["data"].get("alerts", ()) if is_post}
    try:
        return send(composed, secrets=secrets_for(composed.recipient.address, about=about, using=using))
    except SecretUnreadable as error:
        return str(error)


def secrets_for(address: str, *, about: Collection[int | None] = (), using: str) -> Sequence[str]:
    """What posts to that address are signed with: the site's secret, and those of the biz types that name it.

    One that nothing names any more hears of the biz types that the post is about: theirs, and the site's.
    """
    known, rows = options(), BizType.objects.using(using).order_by("id")
    found = [known.owner_secret] if known.owner_secret and address == known.owner_url else []
    naming = list(rows.filter(owner_url=address).exclude(owner_url=""))
    if not naming and address != known.owner_url:
        naming = list(rows.filter(pk__in=[number for number in about if number]))
        found = [known.owner_secret] if known.owner_secret else []
    for biz_type in naming:
        found += target_of(biz_type, now=timezone.now()).secrets
    return list(dict.fromkeys(found))
