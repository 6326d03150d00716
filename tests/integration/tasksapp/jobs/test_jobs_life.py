"""Any order of verbs, claims, outcomes and lost workers, against a model in a few lines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tasksapp import jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import WrongState
from tasksapp.jobs.creation import create
from tasksapp.models import Attempt, BizType, Job, Status, Transition
from tasksapp.sql.claim_jobs import claim_jobs
from tasksapp.sql.leases import return_lost_leases
from tasksapp.sql.write_outcomes import write_outcomes
from tests.outcomes import finished, tried
from tests.property_sizes import examples

pytestmark = pytest.mark.django_db(transaction=True)

CODES = ["again", "once"]
FAR = timedelta(days=2)


@dataclass
class Known:
    """What must be true of a job."""

    once: bool
    status: Status = Status.PENDING
    version: int = 1
    attempts: int = 0
    system_errors: int = 0
    logged: int = 0
    token: int | None = None

    def become(self, status: Status, verb: str) -> None:
        assert any((change.source, change.verb, change.target) == (self.status, verb, status) for change in Transition)
        self.status = status
        self.version += 1
        if verb not in ("cancel", "reschedule", "run now", "redrive", "drop"):
            self.token = None


class LifeOfJobs(RuleBasedStateMachine):
    """Jobs of two biz types: one may be tried again, the other at most once."""

    jobs = Bundle("jobs")

    @initialize()
    def begin(self) -> None:
        Attempt.objects.all().delete()
        Job.objects.all().delete()
        BizType.objects.all().delete()
        for code, guarantee in zip(CODES, ["at_least_once", "at_most_once"], strict=True):
            BizType.objects.create(code=code, guarantee=guarantee, url="https://shop.example/hooks")
        biz_type_cache.clear()
        self.known: dict[UUID, Known] = {}
        self.claims: list[tuple[UUID, int]] = []
        #: When rows are claimed and leases judged; an hour passes with each claim.
        self.now = timezone.now() + FAR

    @rule(target=jobs, code=st.sampled_from(CODES), hours=st.integers(0, 40))
    def create(self, code: str, hours: int) -> UUID:
        job_id = create(code, delay=timedelta(hours=hours)).job_id
        self.known[job_id] = Known(once=code == "once")
        return job_id

    @rule(job_id=jobs, verb=st.sampled_from(["cancel", "reschedule", "run now", "redrive", "drop"]))
    def act(self, job_id: UUID, verb: str) -> None:
        acts: dict[str, Any] = {
            "cancel": (Status.CANCELLED, lambda: jobs.cancel(job_id)),
            "reschedule": (Status.PENDING, lambda: jobs.reschedule(job_id, delay=FAR / 2)),
            "run now": (Status.PENDING, lambda: jobs.run_now(job_id)),
            "redrive": (Status.PENDING, lambda: jobs.redrive(job_id)),
            "drop": (Status.DROPPED, lambda: jobs.drop(job_id)),
        }
        becomes, do = acts[verb]
        known = self.known[job_id]
        if not any((change.source, change.verb) == (known.status, verb) for change in Transition):
            with pytest.raises(WrongState):
                do()
            return
        do()
        known.become(becomes, verb)
        if verb == "redrive":
            known.system_errors = 0

    @rule(only=st.none() | jobs)
    def claim(self, only: UUID | None) -> None:
        ids = list(self.known) if only is None else [only]
        self.now += timedelta(hours=1)
        answer = claim_jobs(ids, now=self.now, lease_seconds=60, worker="w", using="default")

        pending = {job_id for job_id in ids if self.known[job_id].status == Status.PENDING}
        assert {job.id for job in answer.claimed} == pending
        assert set(answer.gone) == set(ids) - pending
        for job_id in pending:
            known = self.known[job_id]
            known.become(Status.RUNNING, "claim")
            known.token = answer.token
            known.attempts += known.once
            self.claims.append((job_id, answer.token))

    @rule(
        which=st.integers(0, 999),
        end=st.sampled_from(
            [
                (Transition.SUCCEED, Status.SUCCEEDED, "succeed"),
                (Transition.RETRY, Status.PENDING, "retry"),
                (Transition.GIVE_UP, Status.DEAD, "give up"),
                (Transition.GIVE_BACK, Status.PENDING, "give back"),
            ]
        ),
    )
    def finish(self, which: int, end: tuple[Transition, Status, str]) -> None:
        """Any claim there ever was may try to write, also one that was lost long ago."""
        if not self.claims:
            return
        # Not drawn from the claims: how many there are may differ when the same steps are walked again, as rows whose
        # leases end together are lost in the order of their ids.
        job_id, token = self.claims[which % len(self.claims)]
        known, (transition, status, verb) = self.known[job_id], end
        was_tried = verb != "give back"
        counted = (0 if known.once else 1) if was_tried else -1 if known.once else 0
        number = known.attempts + counted
        attempt = tried(number) if was_tried else None
        outcome = finished(job_id, token, transition, counted=counted, last_error=verb, tried=attempt)

        written = write_outcomes([outcome], now=timezone.now(), worker="w", using="default")

        ours = known.status == Status.RUNNING and known.token == token
        assert written == ({job_id} if ours else set())
        if ours:
            known.become(status, verb)
            known.attempts += counted
            known.logged += was_tried

    @rule(limit=st.integers(1, 3))
    def lose_workers(self, limit: int) -> None:
        late = self.now + timedelta(minutes=30)
        lost = return_lost_leases(now=late, limit=limit, max_system_errors=3, using="default")

        running = [job_id for job_id, known in self.known.items() if known.status == Status.RUNNING]
        assert len(lost) == min(limit, len(running))
        for job in lost:
            known = self.known[job.id]
            known.system_errors += 1
            ends = known.once or known.system_errors >= 3
            known.become(Status.DEAD if ends else Status.PENDING, "lose")

    @invariant()
    def the_rows_are_as_the_model_has_them(self) -> None:
        if not hasattr(self, "known"):
            return
        rows = {job.id: job for job in Job.objects.all()}
        assert rows.keys() == self.known.keys()
        for job_id, known in self.known.items():
            job = rows[job_id]
            found = (job.status, job.version, job.attempts, job.system_errors, job.lease_token)
            assert found == (known.status, known.version, known.attempts, known.system_errors, known.token)
            assert (job.lease_until is not None) == (job.status == Status.RUNNING)
            assert (job.finished_at is not None) == (job.status not in (Status.PENDING, Status.RUNNING))
            assert Attempt.objects.filter(job_id=job_id).count() == known.logged


def test_jobs_live_as_the_table_says() -> None:
    run_state_machine_as_test(
        LifeOfJobs,
        settings=settings(
            max_examples=examples(12), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
