"""RedisStandIn: while Redis is away, finds due jobs in the database, so that they are delivered all the same.

Redis only says which jobs are due; the hand-over is a commit of the row, with Redis or without. So another worker that
claims from a Redis that is back takes no job twice. Jobs of biz types with a rate or with slots wait, since those are
counted in Redis; so do jobs whose target is a Celery task, since its message would go through Redis.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from datetime import timedelta

import redis
from django.db import Error, connections

from delayhub.clock import Clock, moment
from delayhub.errors import OptionError
from delayhub.transport.consuming.last_claim import last_claim
from tasksapp.conf import options
from tasksapp.maintenance.database_uptime import DatabaseUptime
from tasksapp.maintenance.lost_leases import LostLeases
from tasksapp.models import BizType, PausedKey
from tasksapp.sql.first_jobs import database_now_ms, due_jobs
from tasksapp.timers.lanes import brief_client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.delivery_runtime import DeliveryRuntime, delivery_runtime

logger = logging.getLogger(__name__)

#: It looks so often whether Redis is away, and while it is, for due jobs; never in step with other processes.
LEAST_SECONDS, MOST_SECONDS = 0.5, 1.0
#: Jobs that one turn claims, at most.
TURN_JOBS = 500
#: It looks so often for jobs of workers that were lost meanwhile.
LOST_SECONDS = 2.0
#: After Redis is back, it takes only jobs that are so late: the others come from there.
LATE = timedelta(seconds=2)


class RedisStandIn:
    """Looks for due jobs in a thread of its own, while Redis is away.

    Args:
        make_runtime: gives what delivers in this process; called when Redis is away for the first time.
        clock: Redis' time, as it was last known.
        silence: whether Redis is away.
    """

    def __init__(
        self,
        *,
        make_runtime: Callable[[], DeliveryRuntime] = delivery_runtime,
        clock: RedisClock | None = None,
        silence: RedisSilence | None = None,
    ) -> None:
        self._make_runtime = make_runtime
        self._clock = clock or RedisClock(brief_client)
        self._silence = silence or RedisSilence(ask=self._ask, claimed_at=lambda: last_claim.at, clock=self._clock)
        self._uptime = DatabaseUptime(clock=self._clock)
        self._lost_at = 0.0
        self._using = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delayhub-stand-in", daemon=True)

    @property
    def is_needed(self) -> bool:
        """Whether Redis was away when it last looked, or was until a short while ago."""
        return self._silence.since is not None or self._silence.is_over

    def start(self) -> None:
        """Begins to look; call it after a fork, never before."""
        self._thread.start()

    def stop(self) -> None:
        """Claims nothing more. The turn under way ends first."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(5.0)

    def run_once(self) -> int:
        """One turn: how many jobs were claimed; 0 while Redis answers as it should. Raises what the database raises."""
        late = timedelta(0) if self._silence.look() else LATE
        if not self.is_needed:
            self._uptime.reset_count()
            return 0
        runtime = self._make_runtime()
        self._using = runtime.using
        if not self._clock.is_set:
            # Never by the clock of this machine: it may be minutes ahead.
            self._clock.set(database_now_ms(using=runtime.using))
        runtime.clock.set_if_unknown(self._clock.now_ms())
        self._return_lost(runtime.using)
        return self._claim(runtime, late=late)

    def _claim(self, runtime: DeliveryRuntime, *, late: timedelta) -> int:
        room = min(runtime.dispatcher.room, TURN_JOBS)
        now_ms = self._clock.now_ms()
        limits = self._limits(runtime, room=room, now_ms=now_ms)
        claimed_at = self._clock.monotonic()
        ids = due_jobs(limits, until=moment(now_ms) - late, limit=room, using=runtime.using)
        if not ids:
            return 0
        answer = runtime.claimer.claim_found(ids, now_ms=now_ms)
        runtime.hand_over(answer, claimed_at=claimed_at)
        return len(answer.claimed)

    def _limits(self, runtime: DeliveryRuntime, *, room: int, now_ms: int) -> dict[int, int]:
        """By id, how many jobs of each biz type may be claimed."""
        now, lanes = moment(now_ms), set(options().lanes)
        found = {}
        open_ones = BizType.objects.using(runtime.using).filter(enabled=True, target=BizType.Target.HTTP)
        # Which of the due jobs have a paused flow key is not asked: all of such a biz type wait for Redis.
        paused = PausedKey.objects.using(runtime.using).filter(until__gt=now).values("biz_type_id")
        for biz_type in open_ones.exclude(pk__in=paused):
            if biz_type.lane in lanes and not biz_type.waits_for_redis and not biz_type.is_shut(now=now):
                found[biz_type.pk] = min(room, runtime.completer.probes(biz_type.queue))
        return {key: limit for key, limit in found.items() if limit > 0}

    def _return_lost(self, using: str) -> None:
        """Makes rows pending again whose workers were lost meanwhile; each is locked, so this takes no seat."""
        now = self._clock.monotonic()
        if now - self._lost_at >= LOST_SECONDS:
            self._lost_at = now
            LostLeases(using=using, clock=self._clock, uptime=self._uptime, ensure=lambda _: []).run_once()

    def _ask(self) -> bool:
        try:
            return self._clock.ask()
        except (
            OptionError
        ):  # the settings name no Redis: there is nothing to wait for, and the start of a worker says so
            return True

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = random.uniform(LEAST_SECONDS, MOST_SECONDS)  # noqa: S311  spreads load
            try:
                if self.run_once() >= TURN_JOBS:
                    wait = 0.0  # more may be due
            except (Error, redis.RedisError, OSError) as error:
                logger.warning("due jobs wait for the database, too: %s", error, extra={"action": "stand_in"})
                self._uptime.reset_count()
                self._close_connection()
            except Exception:
                # Nothing else finds due jobs now, so no failure of one turn may end this thread.
                logger.exception("due jobs could not be claimed, trying again", extra={"action": "stand_in"})
                self._close_connection()
            else:
                if not self.is_needed:
                    self._close_connection()
        self._close_connection()

    def _close_connection(self) -> None:
        if self._using:
            connections[self._using].close()


#: Redis is away when nothing came from it for so long.
SILENT_SECONDS = 2.0
#: It is asked when claims have brought no answer for so long.
ASK_AFTER_SECONDS = 1.0
#: What a Redis that was frozen gave to connections that were gone by then comes back when those leases end: after 30 s,
#: unless the transport's options say otherwise. Until then jobs that are late are still looked for.
AFTERWARDS_SECONDS = 40.0


class RedisSilence:
    """Begins some seconds after the last good answer, and ends when this process has claimed from its lane again.

    That Redis answers a question is not enough to end it: a worker's connections may take ten seconds longer to come
    back, and due jobs would wait for them.

    Args:
        ask: asks Redis anything; whether it answered.
        claimed_at: gives the moment of the last claim that was answered, in monotonic seconds; 0 for never.
        clock: tells the time.
    """

    def __init__(self, *, ask: Callable[[], bool], claimed_at: Callable[[], float], clock: Clock) -> None:
        self._ask = ask
        self._claimed_at = claimed_at
        self._clock = clock
        self._answered_at = clock.monotonic()
        self._since: float | None = None
        self._back_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it ended so short a time ago that jobs may still be late for it."""
        return self._back_at is not None and self._clock.monotonic() < self._back_at + AFTERWARDS_SECONDS

    @property
    def since(self) -> float | None:
        """When it began, in monotonic seconds; None while Redis answers."""
        return self._since

    def look(self) -> bool:
        """Whether Redis is away now. Asks it where no claim of the last second says so."""
        claimed_at, now = self._claimed_at(), self._clock.monotonic()
        if self._since is not None:
            if claimed_at <= self._since:
                return True
            logger.warning("Redis is back after %.0f s", now - self._since, extra={"action": "stand_in"})
            self._since, self._back_at = None, now
        self._answered_at = max(self._answered_at, claimed_at)
        if now - self._answered_at >= ASK_AFTER_SECONDS and self._ask():
            self._answered_at = self._clock.monotonic()
        if self._clock.monotonic() - self._answered_at < SILENT_SECONDS:
            return False
        self._since, self._back_at = self._clock.monotonic(), None
        logger.warning(
            "Redis is away: due jobs are claimed from the database; those of biz types with limits, and those that run"
            " a Celery task, wait until it is back",
            extra={"action": "stand_in"},
        )
        return True
