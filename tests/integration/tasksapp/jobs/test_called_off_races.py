"""An answer and the end of its job's time, at the same moment: exactly one of the follow-ups is made.

At night there are ten thousand races; by day two hundred, and fewer on SQLite, which lets one write at a time.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
from tasksapp.models import BizType, Job, Status, Tombstone
from tasksapp.sql.leases import return_lost_leases
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried
from tests.property_sizes import FACTOR

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(3_600)]

KEYS = 20
SECOND = timedelta(seconds=1)
FOLLOWS = {Status.CANCELLED: "after.answer", Status.SUCCEEDED: "after.success", Status.DEAD: "after.death"}


def rounds() -> int:
    races = 10_000 if FACTOR > 1 else 200
    return max(races if connection.vendor == "postgresql" else races // 10, KEYS) // KEYS


def work(ids: list[UUID], seed: int) -> None:
    """A worker that takes some jobs at a time; attempts succeed, fail, are the last, or end with their worker."""
    chance = random.Random(seed)
    claimer = Claimer(clock=RedisClock(client), worker="w", using="default")
    completer = Completer(clock=SystemClock(), worker="w", using="default")
    left = chance.sample(ids, len(ids))
    while left:
        taken, left = left[:3], left[3:]
        completions = []
        for job in claimer.running_jobs(claimer.claim_due(taken, now_ms=0)):
            match chance.choice(["succeeds", "fails", "dies", "is lost"]):
                case "succeeds":
                    completions.append(Completion(job, completion.succeeded(job, tried=tried())))
                case "fails":
                    failed = completion.failed(job, tried=tried(), error_class="http.503", now=timezone.now())
                    completions.append(Completion(job, failed))
                case "dies":
                    gone = completion.gave_up(job, tried=tried(), reason="gone", error_class="http.410")
                    completions.append(Completion(job, gone))
        completer.complete(completions)


def end_all() -> None:
    """Time goes by until every job has ended."""
    while live := list(Job.objects.filter(biz_type__code="ask", status__in=["pending", "running"])):
        Job.objects.filter(status=Status.RUNNING).update(lease_until=timezone.now() - SECOND)
        return_lost_leases(
            now=timezone.now(), limit=100, max_system_errors=1, using="default",
            on_end=lambda ended: make_follow_ups([EndedJob.of(job) for job in ended], using="default"),
        )  # fmt: skip
        Job.objects.filter(status=Status.PENDING).update(next_run_at=timezone.now() - SECOND)
        work([job.id for job in live if job.status == Status.PENDING], seed=len(live))


def test_exactly_one_follow_up_is_made(make_biz_type: MakeBizType) -> None:
    for code in FOLLOWS.values():
        make_biz_type(code)
    ask: BizType = make_biz_type(
        "ask", on_resolved="after.answer", on_success="after.success", on_dead="after.death", max_attempts=2,
        backoff="fixed", backoff_min_seconds=0,
    )  # fmt: skip
    seen: Counter[str] = Counter()
    for number in range(rounds()):
        chance = random.Random(number)
        keys = [f"{number}-{each}" for each in range(KEYS)]
        asked = [due("ask", biz_id=key) for key in keys[: KEYS * 3 // 4]]
        later = keys[KEYS * 3 // 4 :]

        def answer(keys: list[str], chance: random.Random) -> list[jobs.Resolution]:
            mine = chance.sample(keys, len(keys))
            return [jobs.resolve("ask", key, outcome="approved") for key in mine]

        def ask_late(keys: list[str]) -> None:
            for key in keys:
                due("ask", biz_id=key)

        said, *_ = at_once(
            partial(answer, keys, chance), partial(work, asked, number), partial(work, asked, -number),
            partial(ask_late, later),
        )  # fmt: skip
        end_all()

        status = dict(Job.objects.filter(biz_type=ask).values_list("id", "status"))
        followed: dict[UUID, list[str]] = {job_id: [] for job_id in status}
        for code, body in Job.objects.exclude(biz_type=ask).values_list("biz_type__code", "body"):
            followed[UUID(json.loads(body)["follows"]["id"])].append(code)
        assert {job_id: [FOLLOWS[Status(each)]] for job_id, each in status.items()} == followed
        assert len(status) == KEYS
        taken = set(Tombstone.objects.values_list("answered_job", flat=True))
        assert {job_id for job_id, each in status.items() if each == Status.CANCELLED} <= taken
        for one in said:
            assert one.accepted
            if one.answered is not None and not one.too_late:
                # Whoever is told that an answer is in time is told the truth.
                assert status[one.answered] == Status.CANCELLED
        seen.update(status.values())
        Job.objects.all().delete()
        Tombstone.objects.all().delete()
    # Else there were no races.
    assert set(seen) == set(FOLLOWS), seen
