"""Many ordered flow keys at once: several workers, failures, lost workers, lost wake-ups, pauses, deaths, redrives.

What a receiver would have seen is kept, and judged by it alone: of each key one job at a time, in their order.
"""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connections
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.biz_types.flow_keys import pause_key, resume_key
from tasksapp.jobs import flow_order
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.jobs.running_job import RunningJob
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType, Job, Status, Transition
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import return_lost
from tests.outcomes import finished
from tests.timer_leases import leases_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

WORKERS = 3


class Shop:
    """Workers, and what the receiver of their callbacks sees.

    Args:
        lane: where timers wait.
        clock: Redis' time.
        seed: what chance goes by.
        deadline_seconds: when the run is given up.
    """

    def __init__(self, *, lane: TimerLane, clock: RedisClock, seed: int, deadline_seconds: float) -> None:
        self.lane = lane
        self.clock = clock
        self.chance = random.Random(seed)
        self.deadline = time.monotonic() + deadline_seconds
        self.over = threading.Event()
        self.lock = threading.Lock()
        #: By key the indexes of its jobs as their callbacks began, and what is at work there.
        self.begun: dict[str, list[int]] = defaultdict(list)
        self.at_work: dict[str, int] = {}
        self.beside: list[str] = []
        self.faults: list[BaseException] = []

    def work(self) -> None:
        """One worker."""
        claimer = Claimer(clock=self.clock, worker=threading.current_thread().name, using="default")
        completer = Completer(clock=self.clock, worker=threading.current_thread().name, using="default")
        lane = TimerLane(self.lane.client, self.lane.name)
        while self.goes_on():
            claim = lane.claim(50)
            ids = [UUID(job_id) for batch in claim.batches for job_id in batch.ids]
            if not ids:
                time.sleep(0.01)
                continue
            answer = claimer.claim_due(ids, now_ms=claim.now_ms)
            lane.acknowledge(leases_of(claim, lane=lane.name))
            ended = [done for job in claimer.running_jobs(answer) if (done := self.call(job)) is not None]
            if ended:
                completer.complete(ended)

    def call(self, job: RunningJob) -> Completion | None:
        """The callback of a job, and what becomes of it; None where its worker is lost meanwhile."""
        key, index = job.row.flow_key, int(job.row.biz_id)
        with self.lock:
            if self.at_work.get(key, index) != index:
                self.beside.append(f"{key}: {index} beside {self.at_work[key]}")
            self.at_work[key] = index
            self.begun[key].append(index)
            luck = self.chance.random()
        if luck < 0.005:
            Job.objects.filter(id=job.id).update(lease_until=timezone.now() - timedelta(seconds=1))
            return None
        with self.lock:
            self.at_work.pop(key)
        if luck < 0.03:
            return Completion(job, finished(job.id, job.token, Transition.GIVE_UP, tried=None))
        if luck < 0.12:
            again = timezone.now() + timedelta(milliseconds=50)
            return Completion(job, finished(job.id, job.token, Transition.RETRY, tried=None, next_run_at=again))
        return Completion(job, finished(job.id, job.token, tried=None))

    def tend(self) -> None:
        """The loader, and a person who pauses keys and redrives or drops what is dead."""
        loader, paused = Loader(using="default"), ""
        biz_type = BizType.objects.get(code="ship")
        while self.goes_on():
            loader.run_once()
            return_lost(now=timezone.now())
            for job_id in Job.objects.filter(status=Status.DEAD).values_list("id", flat=True):
                (jobs.redrive if self.chance.random() < 0.8 else jobs.drop)(job_id)
            if paused:
                resume_key(biz_type, paused)
            paused = self.chance.choice(["", *list(self.begun)[:20]])
            if paused:
                pause_key(biz_type, paused)
            if not Job.objects.filter(status__in=[Status.PENDING, Status.RUNNING, Status.DEAD]).exists():
                self.over.set()
            time.sleep(0.1)

    def goes_on(self) -> bool:
        return not self.over.is_set() and not self.faults and time.monotonic() < self.deadline

    def run(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:
            self.faults.append(error)
            raise
        finally:
            connections.close_all()


@pytest.mark.parametrize(
    ("keys", "each", "seconds"),
    [(12, 12, 60), pytest.param(1_000, 100, 3_000, marks=[pytest.mark.nightly, pytest.mark.timeout(3_600)])],
)
def test_each_key_keeps_its_order_whatever_happens(
    make_biz_type: MakeBizType,
    lane: TimerLane,
    clock: RedisClock,
    monkeypatch: pytest.MonkeyPatch,
    keys: int,
    each: int,
    seconds: float,
) -> None:
    make_biz_type("ship", ordered=BizType.Ordered.BLOCKS)
    shop = Shop(lane=lane, clock=clock, seed=7, deadline_seconds=seconds)
    wake_keys = flow_order.wake_keys

    def wake_mostly(found: set[tuple[int, str]], *, using: str) -> bool:
        """A worker may be killed between its commit and this."""
        kept = {key for key in found if shop.chance.random() > 0.01}
        return wake_keys(kept, using=using)

    monkeypatch.setattr(flow_order, "wake_keys", wake_mostly)
    names = [f"key-{number}" for number in range(keys)]
    threads = [threading.Thread(target=shop.run, args=[part]) for part in [*[shop.work] * WORKERS, shop.tend]]

    for index in range(each):
        create_many([JobRequest("ship", biz_id=str(index), flow_key=name) for name in names])
        if index == each // 3:
            for thread in threads:
                thread.start()
    for thread in threads:
        thread.join()

    assert shop.faults == []
    assert shop.beside == []
    assert {name: seen for name, seen in shop.begun.items() if seen != sorted(seen)} == {}
    assert {name: set(seen) for name, seen in shop.begun.items()} == {name: set(range(each)) for name in names}
    assert shop.over.is_set()
