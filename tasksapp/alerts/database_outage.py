"""DatabaseOutage: tells that the database is away, and that it is back, with nothing but Redis or a file to go by."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from delayhub.clock import moment
from tasksapp.alerts import outbox
from tasksapp.alerts.book import CLEAR, Event, What, needed_calm
from tasksapp.alerts.composer import Composed, compose
from tasksapp.alerts.conditions import CONFIRM
from tasksapp.alerts.outage_record import Outage, OutageRecord
from tasksapp.alerts.sending import send
from tasksapp.alerts.sentences import in_messages_language, sentence_of
from tasksapp.conf import options
from tasksapp.models import Alert, AlertKind, AlertWatch

logger = logging.getLogger(__name__)

#: Two processes that see the same outage begin are no further apart: a turn, and how long one waits for an answer.
SAME = timedelta(seconds=15)


class DatabaseOutage:
    """What one process knows of the outages of one database.

    Args:
        using: the database.
        record: where what all of them know is kept.
    """

    def __init__(self, *, using: str, record: OutageRecord | None = None) -> None:
        self._using = using
        self._record = record or OutageRecord(using=using)
        self._away_since: datetime | None = None
        self._back_since: datetime | None = None
        self._unsent: list[Composed] = []

    @property
    def is_open(self) -> bool:
        """Whether this process has seen an outage whose end was not told yet."""
        return self._away_since is not None

    def take_over(self, *, before: datetime) -> None:
        """Takes on to tell the end of an open outage that began before then; the processes that saw it may be gone."""
        known = self._record.read()
        if self._away_since is None and known is not None and not known.ended_at:
            began_at = _at(known.began_at)
            self._away_since = began_at if began_at < before else None

    def note_away(self, *, now: datetime) -> bool:
        """The database does not answer: tells that, where it has lasted, and no process has. Whether this one did."""
        self._back_since = None
        if self._away_since is None:
            self._away_since = now
        if now - self._away_since < CONFIRM:
            return False
        with self._record.locked() as is_mine:
            return is_mine and self._tell(now=now)

    def note_answer(self, *, now: datetime) -> bool:
        """The database answers: tells that it is back, where an outage was told; whether this process did.

        Raises what the database raises.
        """
        if self._away_since is None:
            return False
        if self._back_since is None:
            self._back_since = now
        known = self._record.read()
        returns = known.returns if known else 0
        if now - self._back_since < (needed_calm(returns) if returns else CLEAR):
            return False
        with self._record.locked() as is_mine:
            if not is_mine:
                return False
            told = self._close(now=now)
        self._away_since = self._back_since = None
        return told

    def _tell(self, *, now: datetime) -> bool:
        known, at = self._record.read(), now.timestamp()
        assert self._away_since is not None
        if known is None or known.ended_at:
            came_back = known is not None and at - known.ended_at < options().alert_calm_seconds
            known = Outage(
                began_at=self._away_since.timestamp(), returns=known.returns + 1 if known and came_back else 0
            )
            self._record.write(known)
        every = options().alert_reminder_hours * 3600
        if at < known.next_at or (known.told_at and at - (known.reminded_at or known.told_at) < every):
            return False
        what = What.STAYS if known.told_at else What.BEGAN
        messages = compose([Event(what, _alert(known))], {}, now=now)
        failures = _send_all(messages)
        if failures and all(failures):
            wait = min(outbox.LONGEST_WAIT, outbox.FIRST_WAIT * 2 ** min(known.failed_sends, 20))
            self._record.write(
                replace(
                    known,
                    failed_sends=known.failed_sends + 1,
                    next_at=at + wait.total_seconds(),
                    last_error=failures[0],
                )
            )
            return False
        if what is What.BEGAN:
            known = replace(known, told_at=at)
            # Sent when the database is back, which keeps what was not sent.
            self._unsent = [message for message, failure in zip(messages, failures, strict=True) if failure]
        self._record.write(replace(known, reminded_at=at if what is What.STAYS else 0.0, next_at=0.0))
        return True

    def _close(self, *, now: datetime) -> bool:
        """Ends the record and notes the outage as an alert; only one process does, whatever record each has."""
        known = self._record.read()
        if known is None or known.ended_at:
            return False
        assert self._back_since is not None
        ended_at = self._back_since
        if known.told_at:
            with transaction.atomic(using=self._using):
                # Processes on several machines may have records of their own: one after another looks at the alerts.
                list(AlertWatch.objects.using(self._using).select_for_update().all())
                alert = _alert(known)
                rows = Alert.objects.using(self._using).filter(kind=AlertKind.DATABASE_AWAY)
                if not rows.filter(began_at__range=(alert.began_at - SAME, alert.began_at + SAME)).exists():
                    began = compose([Event(What.BEGAN, alert)], {}, now=now)
                    alert.ended_at, alert.recovery_told_at = ended_at, now
                    alert.save(using=self._using)
                    _note_sent(began, self._unsent, using=self._using)
                    outbox.put(compose([Event(What.OVER, alert)], {}, now=now), now=now, using=self._using)
        self._record.write(replace(known, ended_at=ended_at.timestamp()))
        return bool(known.told_at)


def _alert(known: Outage) -> Alert:
    """The outage as an alert."""
    facts = {"failed_sends": known.failed_sends, "last_error": known.last_error} if known.failed_sends else {}
    with in_messages_language():
        sentence = sentence_of(AlertKind.DATABASE_AWAY, facts)
    return Alert(
        kind=AlertKind.DATABASE_AWAY,
        began_at=_at(known.began_at),
        told_at=_at(known.told_at) if known.told_at else None,
        reminded_at=_at(known.reminded_at) if known.reminded_at else None,
        sentence=sentence,
        facts=facts,
        returns=known.returns,
    )


def _at(seconds: float) -> datetime:
    return moment(int(seconds * 1000)).astimezone(timezone.get_default_timezone())


def _note_sent(messages: Sequence[Composed], unsent: Sequence[Composed], *, using: str) -> None:
    """Notes what was sent while there was no database to note it in, and lets the rest be sent now."""
    missing = {message.recipient for message in unsent}
    for message in messages:
        (alert,) = message.alerts
        assert alert.told_at is not None
        row = message.row(now=alert.told_at)
        if message.recipient not in missing:
            row.sent_at, row.next_at = alert.told_at, None
        row.save(using=using)
        row.alerts.add(alert)


def _send_all(messages: Sequence[Composed]) -> list[str]:
    """For each message, why it was not sent; '' where it was."""
    secret = options().owner_secret
    failures = [send(message, secrets=[secret] if secret else []) for message in messages]
    for message, failure in zip(messages, failures, strict=True):
        if failure:
            logger.warning(
                "the alert that the database is away was not sent by %s: %s",
                message.recipient.channel,
                failure,
                extra={"action": "alert"},
            )
    return failures
