"""Puller: claims due jobs of biz types that are pulled, at once or as soon as one is due."""

from __future__ import annotations

import logging
import random
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NoBase64
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from secrets import randbits
from typing import NamedTuple
from uuid import UUID

import redis
from django.db import router

from delayhub.clock import due_ms, moment
from delayhub.engine import EngineOptions, Lease, TimerLane
from tasksapp.access.actors import Actor
from tasksapp.biz_types.gates import gate_queues
from tasksapp.delivery.sent_headers import SentHeaders, own_lines
from tasksapp.errors import AWAY, TimersAway
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Job
from tasksapp.models.job import age_begins
from tasksapp.sql.claim_jobs import Pulling
from tasksapp.timers.lanes import client, patient_lane
from tasksapp.timers.redis_clock import RedisClock

logger = logging.getLogger(__name__)

#: How long a claim may last, in seconds; it can be extended again and again.
SHORTEST_LEASE, LONGEST_LEASE = 1, 3_600
#: Claims of one request, and biz types that it may name.
MOST_CLAIMS, MOST_BIZ_TYPES = 100, 20
#: A slot of ``max_in_flight`` is held for so long beyond the lease: the sweep frees it before.
SLOT_MARGIN_SECONDS = 120
#: A waiting puller asks Redis at least this often: a bell may be lost.
PERIOD = 1.0
#: Redis ends a blocking command at its next 100 ms tick. So close to a due time, the puller only sleeps.
TICK, NAP = 0.12, 0.02

_order = random.Random()  # noqa: S311  spreads claims over biz types, guards nothing

#: Bytes of a job's id, and of a lease's token.
_ID_BYTES, _LEASE_BYTES = 16, 8
#: Characters of a token: 24 bytes in base64.
TOKEN_LENGTH = 32


class ClaimToken(NamedTuple):
    """The job of a claim, and the token of its lease.

    The lease has 63 random bits of the system's source, so that only who was given it knows it. It needs no signature,
    and so no key whose replacement would end claims.

    Args:
        job_id: the job.
        lease: the token that its row has.
    """

    job_id: UUID
    lease: int

    @classmethod
    def parse(cls, text: str) -> ClaimToken | None:
        """The token in a text; None where it is none."""
        if len(text) != TOKEN_LENGTH or not text.isascii():
            return None
        try:
            raw = urlsafe_b64decode(text)
        except (NoBase64, ValueError):
            return None
        if len(raw) != _ID_BYTES + _LEASE_BYTES:
            return None  # base64 passes over signs that it does not know
        token = cls(UUID(bytes=raw[:_ID_BYTES]), int.from_bytes(raw[_ID_BYTES:]))
        return token if token.lease < 2**63 and str(token) == text else None

    def __str__(self) -> str:
        return urlsafe_b64encode(self.job_id.bytes + self.lease.to_bytes(_LEASE_BYTES)).decode()

    @property
    def mark(self) -> str:
        """What the record of an attempt keeps of it: it recognises the token, and cannot be used as one."""
        return sha256(str(self).encode()).hexdigest()[:16]


def new_lease() -> int:
    """The token of a new lease, which cannot be guessed."""
    return randbits(63)


class Claim(NamedTuple):
    """A job that a puller holds.

    Args:
        token: what ends or extends the claim.
        job: the job.
        lease_seconds: how long the claim lasts unless it is extended.
    """

    token: ClaimToken
    job: RunningJob
    lease_seconds: float

    @property
    def deadline(self) -> datetime | None:
        """When the job's ``max_age`` is used up, or its own end: no attempt begins later. None where it has neither."""
        row, max_age = self.job.row, self.job.biz_type.max_age
        # A redrive counts for more than the job's own end.
        ends = [row.expires_at] if row.expires_at is not None and row.redriven_at is None else []
        return min([*ends, age_begins(row) + max_age] if max_age is not None else ends, default=None)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a callback of the job would have, but for a signature."""
        row, started_ms = self.job.row, due_ms(self.job.claimed_at)
        sent = SentHeaders(
            due_ms=due_ms(row.due_at),
            attempt=self.job.attempt_of_budget,
            max_attempts=row.max_attempts,
            redrives=row.redrives,
            length=0,
            is_signed=False,
            is_test=False,
            traceparent=row.traceparent,
            head=(),
            occurrence_ms=0 if row.occurrence_at is None else due_ms(row.occurrence_at),
            turn=row.turn,
            is_out_of_order=self.job.is_out_of_order,
        )
        lateness_ms = max(0, started_ms - due_ms(row.next_run_at))
        lines = own_lines(sent, job_id=str(row.id), started_ms=started_ms, lateness_ms=lateness_ms)
        own = dict(line.split(": ", 1) for line in lines.split("\r\n")[:-1])
        return {"delayhub-biz-type": self.job.biz_type.code, **own}


class Pulled(NamedTuple):
    """What a turn claimed, and in how many seconds there may be more."""

    claims: list[Claim]
    wait_seconds: float


class Puller:
    """Claims jobs for one caller.

    Args:
        by: who pulls.
        using: the database.
    """

    def __init__(self, *, by: Actor, using: str | None = None) -> None:
        self._using = using or router.db_for_write(Job)
        self._claimer = Claimer(clock=redis_clock(), worker=by.name, using=self._using)

    def run_once(
        self,
        biz_types: Sequence[BizType],
        *,
        most: int,
        lease_seconds: float | None = None,
        confirm: Callable[[], object] = lambda: None,
    ) -> Pulled:
        """Claims what is due and what the limits let through, up to so many jobs.

        Args:
            biz_types: those that are asked for, all of them pulled.
            most: how many jobs at most.
            lease_seconds: how long a claim lasts; None for the biz type's timeout.
            confirm: called before rows are claimed; where it raises, none are.

        Raises TimersAway where Redis does not answer: its limits could not be kept.
        """
        claims: list[Claim] = []
        wait_seconds = PERIOD
        for biz_type in _order.sample(biz_types, len(biz_types)):
            if len(claims) == most:
                break
            lease = biz_type.timeout_seconds if lease_seconds is None else lease_seconds
            try:
                found, wait = self._claim_of(biz_type, most=most - len(claims), lease_seconds=lease, confirm=confirm)
            except Exception as error:
                if not claims and not isinstance(error, AWAY):
                    raise
                logger.warning("nothing can be claimed: %s", error, extra={"action": "pull"})
                if claims:
                    break  # they are held already, and the caller has to know of them
                raise TimersAway from error
            claims += found
            wait_seconds = min(wait_seconds, wait)
        return Pulled(claims, wait_seconds)

    def run(
        self,
        biz_types: Sequence[BizType],
        *,
        most: int,
        lease_seconds: float | None = None,
        seconds: float,
        confirm: Callable[[], object] = lambda: None,
    ) -> list[Claim]:
        """The same, as soon as something is due; nothing where that does not happen within so many seconds."""
        end = time.monotonic() + seconds
        while True:
            turn = self.run_once(biz_types, most=most, lease_seconds=lease_seconds, confirm=confirm)
            left = end - time.monotonic()
            if turn.claims or left <= 0:
                return turn.claims
            _wait(biz_types, seconds=min(left, turn.wait_seconds))

    def _claim_of(
        self, biz_type: BizType, *, most: int, lease_seconds: float, confirm: Callable[[], object]
    ) -> tuple[list[Claim], float]:
        """The claims of one biz type, and in how many seconds there may be more."""
        lane = patient_lane(biz_type.timer_lane)
        slot_seconds = max(EngineOptions().slot_seconds, lease_seconds + SLOT_MARGIN_SECONDS)
        due = lane.claim(most, slot_seconds=slot_seconds, needs_gates=True)
        if due.ungated:
            gate_queues(lane, due.ungated, now=moment(due.now_ms), using=self._using)
            due = lane.claim(most, slot_seconds=slot_seconds, needs_gates=True)
        leases = [Lease(lane.name, batch.queue, job_id, batch.token) for batch in due.batches for job_id in batch.ids]
        wait = 0.0 if due.more else PERIOD if due.come_back_ms is None else (due.come_back_ms - due.now_ms) / 1000
        if not leases:
            return [], max(0.0, wait)
        try:
            confirm()
            pulling = Pulling(new_lease(), lease_seconds)
            ids = [UUID(lease.id) for lease in leases]
            answer = self._claimer.claim_pulled(ids, now_ms=due.now_ms, pulling=pulling)
        except Exception:
            _put_back(lane, biz_type, leases)
            raise
        # The rows are ours, whatever happens to their timers: those come back, find no pending row and are forgotten.
        lane.acknowledge(leases)
        claims = [
            Claim(ClaimToken(job.id, job.token), job._replace(pulled_at=moment(due.now_ms)), lease_seconds)
            for job in self._claimer.running_jobs(answer)
        ]
        return claims, max(0.0, wait)


@cache
def redis_clock() -> RedisClock:
    """Redis' time, for all pullers of this process."""
    return RedisClock(client)


def _put_back(lane: TimerLane, biz_type: BizType, leases: Sequence[Lease]) -> None:
    """Lets the timers of a claim that failed wait again, and frees their slots; else that comes with their leases."""
    try:
        lane.release(leases)
        lane.settle(biz_type.queue, [lease.id for lease in leases])
    except (redis.RedisError, OSError) as error:
        logger.warning("timers wait until their leases end: %s", error, extra={"action": "pull"})


def _wait(biz_types: Sequence[BizType], *, seconds: float) -> None:
    """Waits for so long, or until a job of one of the biz types is due earlier than was known."""
    if seconds <= TICK:
        time.sleep(min(seconds, NAP) or 0.001)
        return
    lanes = [patient_lane(biz_type.timer_lane) for biz_type in biz_types]
    try:
        lanes[0].client.blpop([lane.keys.wake for lane in lanes], timeout=min(seconds, PERIOD) - TICK + 0.01)
    except (redis.RedisError, OSError) as error:
        logger.debug("waiting without the bell: %s", error, extra={"action": "pull"})
        time.sleep(NAP)
