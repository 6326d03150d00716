"""Creates, claims, ends and lost workers meet where the last is kept: one runs at a time, and the last one runs last.

At night there are a thousand races; by day forty, and fewer on SQLite, which lets one write at a time.
"""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.models import LIVE, Job, Status
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import return_lost
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried
from tests.property_sizes import FACTOR

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(3_600)]

KEYS = [f"shop-{number}" for number in range(10)]
CREATES = 4
SECOND = timedelta(seconds=1)


def rounds() -> int:
    races = 1_000 if FACTOR > 1 else 40
    return max((races if connection.vendor == "postgresql" else races // 5) // len(KEYS), 2)


class Receiver:
    """What the receiver of the callbacks sees."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begun: dict[str, list[str]] = defaultdict(list)
        self.at_work: set[str] = set()
        self.beside: list[str] = []

    def begin(self, key: str, body: str) -> None:
        with self.lock:
            self.beside += [key] if key in self.at_work else []
            self.at_work.add(key)
            self.begun[key].append(body)

    def end(self, key: str) -> None:
        with self.lock:
            self.at_work.discard(key)


def create(seed: int) -> None:
    """Each key's contents in turn, the keys in any order."""
    chance = random.Random(seed)
    for body in range(CREATES):
        for key in chance.sample(KEYS, len(KEYS)):
            due("stock.sync", biz_id=key, body=body)


def work(receiver: Receiver, seed: int) -> None:
    """A worker that takes what is pending; attempts succeed, fail, are the last, or end with their worker."""
    chance = random.Random(seed)
    claimer = Claimer(clock=RedisClock(client), worker=f"w{seed}", using="default")
    completer = Completer(clock=SystemClock(), worker=f"w{seed}", using="default")
    for _ in range(3 * CREATES):
        pending = list(Job.objects.filter(status=Status.PENDING).values_list("id", flat=True))
        for job in claimer.running_jobs(claimer.claim_due(chance.sample(pending, min(len(pending), 5)), now_ms=0)):
            receiver.begin(job.row.biz_id, job.row.body)
            assert Job.objects.get(id=job.id).body == job.row.body  # which takes some time
            receiver.end(job.row.biz_id)
            match chance.choice(["succeeds", "succeeds", "fails", "dies", "is lost"]):
                case "succeeds":
                    outcome = completion.succeeded(job, tried=tried())
                case "fails":
                    outcome = completion.failed(job, tried=tried(), error_class="http.503", now=timezone.now())
                case "dies":
                    outcome = completion.gave_up(job, tried=tried(), reason="gone", error_class="http.410")
                case _:
                    continue
            completer.complete([Completion(job, outcome)])


def live() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, status in Job.objects.filter(status__in=LIVE).values_list("biz_id", "status"):
        found[key].append(status)
    return found


def test_one_runs_at_a_time_one_waits_and_the_last_runs_last(make_biz_type: MakeBizType) -> None:
    make_biz_type("stock.sync", one_live="last", max_attempts=3, backoff="fixed", backoff_min_seconds=0, jitter=0)
    receiver, replaced = Receiver(), 0
    for number in range(rounds()):
        at_once(*[partial(work, receiver, seed) for seed in (number, -1 - number)], partial(create, number))
        assert all(len(found) <= 2 and found.count(Status.RUNNING) <= 1 for found in live().values()), live()
        for seed in range(100):  # time goes by until all have ended
            if not live():
                break
            Job.objects.filter(status=Status.RUNNING).update(lease_until=timezone.now() - SECOND)
            return_lost(now=timezone.now())
            Job.objects.filter(status=Status.PENDING).update(next_run_at=timezone.now() - SECOND)
            work(receiver, seed)

        assert not live()
        assert receiver.beside == []
        assert {key: receiver.begun[key][-1] for key in KEYS} == dict.fromkeys(KEYS, str(CREATES - 1))
        for key in KEYS:
            bodies = [int(body) for body in receiver.begun[key]]
            assert bodies == sorted(bodies), "no older content after a newer one"
            replaced += CREATES - len({*bodies})
        receiver.begun.clear()
        Job.objects.all().delete()
    # Else there were no races.
    assert replaced > 0
