"""AlertBook: turns what is wrong at one moment into alerts that begin, stay and end, each told once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction

from tasksapp.alerts.conditions import Condition, Judgement
from tasksapp.alerts.sentences import LONGEST, in_messages_language, sentence_of
from tasksapp.alerts.silences import active_silences
from tasksapp.conf import options
from tasksapp.models import Alert, AlertKind, AlertMessage, AlertSilence

#: An alert is over when nothing was wrong for so long; one that came back soon must stay away for longer.
CLEAR = timedelta(seconds=9)
#: How long alerts and silences that are over, and messages, are kept.
KEPT = timedelta(days=90)


class What(StrEnum):
    """What there is to say about an alert."""

    BEGAN = "began"
    STAYS = "stays"
    TAKEN = "taken"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing to say about an alert."""

    what: What
    alert: Alert


class AlertBook:
    """The alerts of one database.

    Args:
        using: the database.
    """

    def __init__(self, *, using: str) -> None:
        self._using = using

    def apply(self, judgement: Judgement, *, now: datetime) -> list[Event]:
        """Brings the alerts up to date, and gives back what is to be said now: each event once, in one process.

        Call it inside the transaction that writes the messages. Raises what the database raises.
        """
        rows = Alert.objects.using(self._using)
        open_alerts = {alert.key: alert for alert in rows.filter(ended_at=None)}
        wrong = {condition.key: condition for condition in judgement.conditions}
        for key in open_alerts.keys() & wrong.keys():
            if wrong[key].is_about_another(open_alerts[key].facts):
                del wrong[key]  # what was told is over first; then this is told
        silences = active_silences(using=self._using, now=now) if wrong else []
        events: list[Event] = []
        for key, condition in wrong.items():
            alert = open_alerts.get(key) or self._begin(condition, now=now)
            quiet = any(silence.covers(*key) for silence in silences)
            if alert is not None and (what := self._goes_on(alert, condition, quiet=quiet, now=now)) is not None:
                events.append(Event(what, alert))
        for key, alert in open_alerts.items():
            if key not in wrong and alert.kind in judgement.kinds and self._ends(alert, now=now):
                events.append(Event(What.OVER, alert))
        return events

    def purge(self, *, now: datetime) -> None:
        """Deletes what is old. Raises what the database raises."""
        with transaction.atomic(using=self._using):
            AlertMessage.objects.using(self._using).filter(created_at__lt=now - KEPT).delete()
            Alert.objects.using(self._using).filter(ended_at__lt=now - KEPT).delete()
            AlertSilence.objects.using(self._using).filter(until__lt=now - KEPT).delete()

    def _begin(self, condition: Condition, *, now: datetime) -> Alert | None:
        """The new alert; None where another process has made it at the same moment."""
        alert = Alert(
            kind=condition.kind,
            biz_type_id=condition.biz_type_id,
            began_at=now,
            facts=dict(condition.facts),
            sentence=_sentence(condition),
            returns=returns_of(condition.key, now=now, using=self._using),
        )
        Alert.objects.using(self._using).bulk_create([alert], ignore_conflicts=True)
        made = Alert.objects.using(self._using).filter(
            kind=condition.kind, biz_type_id=condition.biz_type_id, ended_at=None
        )
        return made.first()

    def _goes_on(self, alert: Alert, condition: Condition, *, quiet: bool, now: datetime) -> What | None:
        changed: dict[str, object] = {}
        if alert.clear_since is not None:
            changed["clear_since"] = None
        if alert.facts != dict(condition.facts):
            changed |= {"facts": dict(condition.facts), "sentence": _sentence(condition)}
        row = Alert.objects.using(self._using).filter(pk=alert.pk, ended_at=None)
        what = None
        # Each only where no other process was faster.
        if alert.told_at is None:
            confirmed = now - alert.began_at >= condition.confirm
            if confirmed and row.filter(told_at=None).update(told_at=now, is_quiet=quiet):
                alert.told_at, alert.is_quiet = now, quiet
                what = None if quiet else What.BEGAN
        elif quiet:
            pass
        elif alert.is_quiet:
            if row.filter(is_quiet=True).update(is_quiet=False, told_at=now):
                alert.told_at, alert.is_quiet, what = now, False, What.BEGAN
        elif _is_old(alert, now=now) and row.filter(reminded_at=alert.reminded_at).update(reminded_at=now):
            alert.reminded_at, what = now, What.STAYS
        if changed:
            row.update(**changed)
            for name, value in changed.items():
                setattr(alert, name, value)
        return what

    def _ends(self, alert: Alert, *, now: datetime) -> bool:
        """Whether it is over now, and that is to be said."""
        row = Alert.objects.using(self._using).filter(pk=alert.pk, ended_at=None)
        if alert.told_at is None:
            row.filter(told_at=None).delete()
            return False
        if alert.clear_since is None:
            row.update(clear_since=now)
            return False
        if now - alert.clear_since < needed_calm(alert.returns):
            return False
        alert.ended_at, alert.recovery_told_at = alert.clear_since, now
        # Of what began in a silence and is over nobody need hear at all.
        return bool(row.update(ended_at=alert.clear_since, recovery_told_at=now)) and not alert.is_quiet


def _is_old(alert: Alert, *, now: datetime) -> bool:
    """Whether its owner is to be reminded of it: not where somebody sees to it."""
    if alert.taken_at is not None:
        return False
    told_at = alert.reminded_at or alert.told_at
    return told_at is not None and now - told_at >= timedelta(hours=options().alert_reminder_hours)


def needed_calm(returns: int) -> timedelta:
    """For how long nothing may be wrong before an alert is over."""
    return timedelta(seconds=options().alert_calm_seconds) if returns else CLEAR


def returns_of(key: tuple[str, int], *, now: datetime, using: str) -> int:
    """How often an alert that begins now has come back, each time soon after it was over."""
    kind, biz_type_id = key
    since = now - timedelta(seconds=options().alert_calm_seconds)
    before = Alert.objects.using(using).filter(kind=kind, biz_type_id=biz_type_id, ended_at__gte=since)
    last = before.order_by("-ended_at").first()
    # Deaths are over only after such a time without any.
    return 0 if last is None or kind == AlertKind.DEAD else last.returns + 1


def names_of(events: Iterable[Event]) -> list[str]:
    """Each event in a word, for the log."""
    return [f"{event.what}: {event.alert.kind} {event.alert.biz_type_id or ''}".rstrip() for event in events]


def _sentence(condition: Condition) -> str:
    with in_messages_language():
        return sentence_of(condition.kind, condition.facts)[:LONGEST]
