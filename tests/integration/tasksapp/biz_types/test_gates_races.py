"""Limits and bulks in one breath, and lower limits amid drains: never more than the limit, whoever claims meanwhile.

Workers claim all the time; in some rounds a loader brings gates too, or Redis loses what it knew of limits.
``DELAYHUB_ROUNDS`` says how many rounds of each kind there are; ``make race`` runs many on both databases.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis
from django.db import connections
from django.utils import timezone

from delayhub.clock import moment
from delayhub.engine import Lease, TimerLane
from tasksapp.biz_types.gates import bring_gates, gate_queues
from tasksapp.jobs.creation import Created, JobRequest, create_many
from tasksapp.models import BizType
from tasksapp.timers.lanes import patient_lane
from tests.fixture_types import MakeBizType
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = int(os.environ.get("DELAYHUB_ROUNDS", "3"))
LANE = "delayhub.timers"
#: What a rate lets through beyond its burst where claims come late: see ``Gate``.
CATCH_UP_SECONDS = 0.1
KEYS = ("a", "b", "c")


@dataclass
class Crowd:
    """Three workers that claim without a pause, and what they hold.

    Args:
        lasts_seconds: how long a job runs.
    """

    lasts_seconds: float
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    #: The jobs that run, each with when it began (ms, Redis' time) and its flow key; and all that ever began.
    running: dict[str, tuple[int, str]] = field(default_factory=dict)
    began: list[tuple[int, str]] = field(default_factory=list)
    most: int = 0
    most_of_a_key: int = 0
    errors: list[BaseException] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    #: By worker: how often it has claimed and told what it got.
    turns: Counter[int] = field(default_factory=Counter)

    def work(self) -> None:
        lane = patient_lane(LANE)
        mine: list[tuple[float, Lease]] = []
        try:
            while not self.stop.is_set():
                claim = lane.claim(50, needs_gates=True)
                if claim.ungated:
                    gate_queues(lane, claim.ungated, now=moment(claim.now_ms), using="default")
                for batch in claim.batches:
                    leases = [Lease(LANE, batch.queue, name, batch.token) for name in batch.ids]
                    self.begin([lease.id for lease in leases], claim.now_ms)
                    mine += [(time.monotonic() + self.lasts_seconds, lease) for lease in leases]
                    lane.acknowledge(leases)
                mine = self.end(lane, mine)
                self.turns[threading.get_ident()] += 1
                self.stop.wait(0.002)
        except BaseException as error:
            self.errors.append(error)
        finally:
            connections.close_all()

    def begin(self, names: list[str], now_ms: int) -> None:
        with self.lock:
            self.running |= {name: (now_ms, self.keys.get(name, "")) for name in names}
            self.began += [(now_ms, self.keys.get(name, "")) for name in names]
            of_keys = Counter(key for _, key in self.running.values())
            self.most = max(self.most, len(self.running))
            self.most_of_a_key = max(self.most_of_a_key, *of_keys.values())

    def end(self, lane: TimerLane, mine: list[tuple[float, Lease]]) -> list[tuple[float, Lease]]:
        over = [lease for at, lease in mine if at <= time.monotonic()]
        for lease in over:
            with self.lock:  # before its slot is free, or another would be counted beside it
                self.running.pop(lease.id)
            lane.settle(lease.queue, [lease.id])
        return [(at, lease) for at, lease in mine if lease not in over]

    def forget_peaks(self) -> None:
        with self.lock:
            self.most, self.most_of_a_key = len(self.running), 0
            self.began.clear()


@contextmanager
def crowd(*, lasts_seconds: float) -> Iterator[Crowd]:
    """The workers, as long as the block lasts; what one of them raised is raised."""
    made = Crowd(lasts_seconds)
    threads = [threading.Thread(target=made.work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        made.stop.set()
        for thread in threads:
            thread.join(60)
    assert made.errors == []


def bulk(code: str, count: int, crowd: Crowd, *, keyed: bool = False) -> None:
    """So many jobs that are due, of which the crowd knows the flow keys; ids are known before any is claimed."""
    with crowd.lock:
        keys = [KEYS[number % len(KEYS)] if keyed else "" for number in range(count)]
        made = create_many([JobRequest(biz_type=code, flow_key=key) for key in keys])
        for one, key in zip(made, keys, strict=True):
            assert isinstance(one, Created)
            crowd.keys[str(one.job_id)] = key


def too_many_at_a_rate(began: list[tuple[int, str]], *, rate: float, burst: int) -> list[str]:
    """The spans of time in which more began than the rate and the burst let through."""
    times = sorted(at for at, _ in began)
    return [
        f"{last - first + 1} in {times[last] - times[first]} ms"
        for first in range(len(times))
        for last in range(first, len(times))
        if last - first + 1 > burst + rate * ((times[last] - times[first] + 1) / 1000 + CATCH_UP_SECONDS) + 1e-6
    ]


def most_of(crowd: Crowd) -> list[str]:
    return [] if crowd.most <= 3 else [f"{crowd.most} at once"]


def most_of_each_key(crowd: Crowd) -> list[str]:
    return [] if crowd.most_of_a_key <= 2 else [f"{crowd.most_of_a_key} of a key at once"]


def rate_of_all(crowd: Crowd) -> list[str]:
    return too_many_at_a_rate(crowd.began, rate=20, burst=2)


def rate_of_each_key(crowd: Crowd) -> list[str]:
    return [
        fault
        for key in KEYS
        for fault in too_many_at_a_rate([one for one in crowd.began if one[1] == key], rate=20, burst=2)
    ]


#: The limits, and how a breach of them is seen.
LIMITS: dict[str, tuple[dict[str, Any], Callable[[Crowd], list[str]]]] = {
    "max_in_flight": ({"max_in_flight": 3}, most_of),
    "delivery_rate": ({"delivery_rate": 20, "delivery_burst": 2}, rate_of_all),
    "key_max_in_flight": ({"key_max_in_flight": 2}, most_of_each_key),
    "key_rate": ({"key_rate": 20, "key_burst": 2}, rate_of_each_key),
}
WIDER = {
    "max_in_flight": {"max_in_flight": 30},
    "delivery_rate": {"delivery_rate": 200, "delivery_burst": 2},
    "key_max_in_flight": {"key_max_in_flight": 10},
    "key_rate": {"key_rate": 100, "key_burst": 2},
}


@pytest.mark.parametrize("kind", LIMITS)
def test_a_biz_type_made_with_a_limit_and_a_bulk_in_one_breath_never_exceeds_it(
    make_biz_type: MakeBizType, redis_client: redis.Redis, kind: str
) -> None:
    limits, breaches = LIMITS[kind]

    for number in range(ROUNDS):
        redis_client.flushall()  # what the round before left
        with crowd(lasts_seconds=0.02) as workers:
            made = make_biz_type(f"made.{number}", **limits)
            bulk(made.code, 15, workers, keyed=kind.startswith("key_"))
            if number % 3 == 1:  # Redis loses what it knew of limits, but no timer
                lane = patient_lane(LANE)
                lane.client.hdel(lane.keys.queue(made.queue).gate, "revision", "max_in_flight", "rate", "key_rate")
            if number % 3 == 2:
                bring_gates(list(BizType.objects.all()), now=timezone.now())  # as the loader does
            wait_until(lambda workers=workers: len(workers.began) >= 6, within_seconds=20)
        assert breaches(workers) == [], f"round {number}"


@pytest.mark.parametrize("kind", LIMITS)
def test_a_lower_limit_amid_a_drain_is_never_exceeded_from_then_on(
    make_biz_type: MakeBizType, redis_client: redis.Redis, kind: str
) -> None:
    limits, breaches = LIMITS[kind]

    for number in range(ROUNDS):
        redis_client.flushall()  # what the round before left
        with crowd(lasts_seconds=0.02) as workers:
            made = make_biz_type(f"lowered.{number}", **WIDER[kind])
            bulk(made.code, 400, workers, keyed=kind.startswith("key_"))
            wait_until(lambda workers=workers: len(workers.began) >= 4, within_seconds=20)

            late = BizType.objects.get(pk=made.pk)
            for name, value in limits.items():
                setattr(made, name, value)
            made.save()

            # What ran before goes on: its like counts from when it has ended.
            turns = workers.turns.copy()
            wait_until(lambda turns=turns, workers=workers: all(workers.turns[one] > turns[one] + 1 for one in turns))
            before = set(workers.running)
            wait_until(lambda before=before, workers=workers: not before & set(workers.running), within_seconds=20)
            workers.forget_peaks()
            bulk(made.code, 15, workers, keyed=kind.startswith("key_"))  # the first ones may all be done by now
            if number % 2:
                bring_gates([late], now=timezone.now())  # a process that was slow
            wait_until(lambda workers=workers: len(workers.began) >= 4, within_seconds=20)
        assert breaches(workers) == [], f"round {number}"
