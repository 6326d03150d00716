"""Watch: one turn of watching: who has the seat, what is wrong, who is told."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import redis
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from delayhub.clock import Clock, now_by
from delayhub.engine.keys import watcher
from tasksapp.alerts import outbox
from tasksapp.alerts.book import AlertBook, Event, names_of
from tasksapp.alerts.composer import compose
from tasksapp.alerts.conditions import (
    AFTER_OUTAGE,
    CONFIRM,
    CONFIRM_AFTER_OUTAGE,
    Judgement,
    biz_type_judgement,
    biz_type_work,
    site_judgement,
)
from tasksapp.alerts.database_outage import DatabaseOutage
from tasksapp.conf import options
from tasksapp.errors import AWAY
from tasksapp.models import AlertWatch, BizType
from tasksapp.sql.alert_work import AlertWork
from tasksapp.stats.delivery_health import DeliveryState, delivery_health
from tasksapp.timers.broker import timer_prefix
from tasksapp.timers.lanes import watched, watched_lane

logger = logging.getLogger(__name__)

#: How often old alerts are looked for.
PURGE_EVERY = timedelta(hours=1)
#: A holder that does not come for so long has lost the seat.
LEASE = timedelta(seconds=9)
#: Workers leave a free seat to web processes for so long: workers are what is watched most.
PATIENCE = timedelta(seconds=6)
_ROW = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one turn did.

    Args:
        held: whether this process had the seat; without it, it did nothing.
        told: what is said to owners, in words for the log.
        has_messages: whether messages are to be sent.
    """

    held: bool
    told: tuple[str, ...] = ()
    has_messages: bool = False


class Watch:
    """Watches one database and its Redis.

    Args:
        using: the database.
        clock: what the time is.
        is_worker: whether it runs in a worker.
    """

    def __init__(self, *, using: str, clock: Clock, is_worker: bool = False) -> None:
        self.using = using
        self.outage = DatabaseOutage(using=using)
        self._clock = clock
        self._seat = Seat(using=using, is_worker=is_worker)
        self._held = False
        self._book = AlertBook(using=using)
        self._began_at = self.now()
        self._redis_away_at: datetime | None = None
        self._purge_at: datetime | None = None

    def run_once(self) -> Turn:
        """One turn with the database. Raises what the database raises; then :meth:`note_away` is the turn."""
        if not self._held and not self.outage.is_open and self._seat.is_known_taken():
            return Turn(held=False)
        had_seat, self._held = self._held, False
        self._held = held = self._seat.take()
        now = self.now()
        if held and not had_seat:
            # Those who saw it were started again since; others who were there tell its end themselves.
            self.outage.take_over(before=self._began_at)
        if self.outage.is_open:
            self._redis_away_at = now
            self.outage.note_answer(now=now)
        if not held:
            return Turn(held=False)
        work = biz_type_work(now=now, using=self.using)
        judgement = self._judge(work, now=now)
        if self._purge_at is None or now >= self._purge_at:
            self._book.purge(now=now)
            self._purge_at = now + PURGE_EVERY
        if not judgement.conditions and not work.has_open:
            return Turn(held=True, has_messages=work.has_messages)
        with transaction.atomic(using=self.using):
            events = self._book.apply(judgement, now=now)
            count = self._put(events, now=now) if events else 0
        for name in names_of(events):
            logger.warning("alert %s", name, extra={"action": "alert"})
        return Turn(held=True, told=tuple(names_of(events)), has_messages=work.has_messages or count > 0)

    def note_away(self) -> bool:
        """One turn without the database: whether its owner was told of that."""
        return self.outage.note_away(now=self.now())

    def leave(self) -> None:
        """Frees the seat for another process. Raises what the database raises."""
        self._seat.leave()

    def now(self) -> datetime:
        """The present, by the clock of this process."""
        return now_by(self._clock)

    def _put(self, events: Sequence[Event], *, now: datetime) -> int:
        biz_types = BizType.objects.using(self.using).select_related("tenant")
        known = biz_types.in_bulk({event.alert.biz_type_id for event in events})
        told = outbox.told_of_their_begin(events, using=self.using)
        return outbox.put(compose(events, known, told=told, now=now), now=now, using=self.using)

    def _judge(self, work: AlertWork, *, now: datetime) -> Judgement:
        if not work.revisions:
            return Judgement()  # a site without biz types delivers nothing
        health = delivery_health()
        if health.state is DeliveryState.REDIS_AWAY:
            self._redis_away_at = now
        was_away = self._redis_away_at is not None and now - self._redis_away_at < AFTER_OUTAGE
        site = site_judgement(health, confirm=CONFIRM_AFTER_OUTAGE if was_away else CONFIRM)
        return site | biz_type_judgement(work, now=now, using=self.using) if health.is_ok else site


class Seat:
    """One process's claim to watch.

    Args:
        using: the database.
        is_worker: whether the process is a worker; then a web process may take the seat from it.
    """

    def __init__(self, *, using: str, is_worker: bool) -> None:
        self._using = using
        self._is_worker = is_worker
        self._holder = f"{socket.gethostname()[:20]}:{os.getpid()}:{uuid4().hex[:12]}"

    def is_known_taken(self) -> bool:
        """Whether Redis says that another process has it, or one that comes first: then the database need not be asked.

        False where it does not say so, or does not answer.
        """
        try:
            value = watched(lambda: _redis().get(watcher(timer_prefix())))
        except AWAY:
            return False
        return value == b"web" or (self._is_worker and value is not None)

    def take(self) -> bool:
        """Takes the seat or keeps it, and lets Redis know; False where another process has it.

        Raises what the database raises.
        """
        if not self._take():
            return False
        with suppress(*AWAY):
            watched(lambda: _redis().set(watcher(timer_prefix()), "worker" if self._is_worker else "web", ex=LEASE))
        return True

    def leave(self) -> None:
        """Frees the seat for another process. Raises what the database raises."""
        AlertWatch.objects.using(self._using).filter(pk=_ROW, holder=self._holder).update(until=Now() - 2 * PATIENCE)
        with suppress(*AWAY):
            watched(lambda: _redis().delete(watcher(timer_prefix())))

    def _take(self) -> bool:
        rows = AlertWatch.objects.using(self._using).filter(pk=_ROW)
        free = Q(until__lt=Now() - PATIENCE) if self._is_worker else Q(until__lt=Now()) | Q(is_worker=True)
        wanted = {"holder": self._holder, "is_worker": self._is_worker, "until": Now() + LEASE}
        if rows.filter(Q(holder=self._holder) | free).update(**wanted):
            return True
        if rows.exists():
            return False
        row = AlertWatch(pk=_ROW, **wanted)
        AlertWatch.objects.using(self._using).bulk_create([row], ignore_conflicts=True)
        return rows.filter(holder=self._holder).exists()


def _redis() -> redis.Redis:
    return watched_lane(options().lanes[0]).client
