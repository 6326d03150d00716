"""Answers that come again, that others were given before, and that meet requests which make no new job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import AlreadyAnswered, KeyResolved
from tasksapp.jobs import completion, resolving
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.models import BizType, Job, Status, Tombstone
from tasksapp.models.sealable import stored
from tasksapp.models.sealed_value import is_sealed
from tasksapp.sql.answers import Taker, take_answers
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
PLAN = ["ask", "after.answer"]


@pytest.fixture(autouse=True)
def ask(make_biz_type: MakeBizType) -> BizType:
    """A biz type whose jobs wait for an answer."""
    make_biz_type("after.answer")
    return make_biz_type("ask", on_resolved="after.answer")


def asked(**fields: Any) -> UUID:
    return jobs.create("ask", biz_id="42", delay=60, **fields).job_id


def lay_meanwhile(ask: BizType) -> None:
    """As if another process had answered by now."""
    now = timezone.now()
    Tombstone.objects.create(biz_type=ask, biz_id="42", at=now, until=now + DAY, outcome="approved")
    BizType.objects.filter(code="ask").update(has_tombstones=True)


def fail(job_id: UUID, *, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Lets the only attempt fail."""
    claimer = Claimer(clock=RedisClock(client), worker="w", using="default")
    now_ms = round((timezone.now() + timedelta(seconds=1)).timestamp() * 1000)
    (job,) = claimer.running_jobs(claimer.claim_due([job_id], now_ms=now_ms))
    meanwhile()
    failed = completion.failed(job, tried=tried(), error_class="http.503", now=timezone.now())
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, failed)])


def follow_up() -> Job:
    return Job.objects.get(biz_type__code="after.answer")


@pytest.mark.parametrize("said", [{}, {"outcome": "approved", "body": [1]}])
def test_the_same_answer_to_a_plan_once_more_leaves_what_followed(said: dict[str, Any]) -> None:
    asked()
    jobs.resolve(PLAN, "42", **said)

    again = jobs.resolve(PLAN, "42", **said)

    assert (again.cancelled, follow_up().status) == ([], Status.PENDING)


def test_a_resolve_without_a_word_after_another_answer_calls_off_what_followed() -> None:
    asked()
    jobs.resolve(PLAN, "42", outcome="approved")

    again = jobs.resolve(PLAN, "42")

    assert (again.cancelled, follow_up().status) == ([follow_up().id], Status.CANCELLED)


def test_the_same_answer_once_more_lets_each_tombstone_hold_for_a_week_from_now() -> None:
    jobs.resolve(PLAN, "42", outcome="approved")
    before = dict(Tombstone.objects.values_list("biz_type__code", "at"))
    Tombstone.objects.update(until=timezone.now() + DAY)

    jobs.resolve(PLAN, "42", outcome="approved")

    assert Tombstone.objects.filter(until__gt=timezone.now() + 6 * DAY).count() == len(PLAN)
    assert dict(Tombstone.objects.values_list("biz_type__code", "at")) == before


def test_a_clock_that_stands_still_lets_the_first_answer_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    asked()
    now = timezone.now()
    monkeypatch.setattr(resolving.timezone, "now", lambda: now)
    jobs.resolve("ask", "42", outcome="approved")

    jobs.resolve("ask", "42", outcome="approved")
    with pytest.raises(AlreadyAnswered):
        jobs.resolve("ask", "42", outcome="rejected")


def test_a_plan_that_is_answered_again_with_one_more_biz_type_calls_its_jobs_off(make_biz_type: MakeBizType) -> None:
    make_biz_type("remind")
    asked()
    jobs.resolve("ask", "42", outcome="approved")
    made = follow_up().id
    Job.objects.filter(id=made).update(status=Status.RUNNING)

    running = jobs.resolve(PLAN, "42", outcome="approved").running
    Job.objects.filter(id=made).update(status=Status.PENDING)
    cancelled = jobs.resolve([*PLAN, "remind"], "42", outcome="approved").cancelled

    assert (running, cancelled) == ([made], [made])


def test_the_job_that_took_an_answer_is_named_when_it_is_kept_no_more() -> None:
    job_id = asked()
    jobs.resolve("ask", "42", outcome="approved")
    Job.objects.filter(id=job_id).delete()

    said = jobs.resolve("ask", "42", outcome="approved")

    assert (said.answered, said.status, said.too_late) == (job_id, "", False)


def test_a_request_that_takes_the_place_of_another_one_is_answered_at_once() -> None:
    waits = jobs.create("ask", biz_id="41", delay=60, debounce_key="d").job_id
    jobs.resolve("ask", "42", outcome="approved")

    made = jobs.create("ask", biz_id="42", delay=60, debounce_key="d")

    assert (made.job_id, made.replaced, made.job.status) == (waits, True, Status.CANCELLED)
    assert json.loads(follow_up().body)["follows"]["id"] == str(waits)


def test_who_asked_in_a_transaction_is_told_how_the_job_is_after_it(ask: BizType) -> None:
    with transaction.atomic():
        made = jobs.create("ask", biz_id="42", delay=60)
        lay_meanwhile(ask)

    assert (made.created, made.row, made.job.status) == (True, None, Status.CANCELLED)


@pytest.mark.parametrize(("first", "second"), [(1, True), (0, False), ([1], [1.0])])
def test_numbers_and_truth_are_other_answers(first: Any, second: Any) -> None:
    jobs.resolve("ask", "42", body=first)

    with pytest.raises(AlreadyAnswered):
        jobs.resolve("ask", "42", body=second)


def test_one_that_does_so_in_an_open_transaction_is_answered_when_it_is_committed(ask: BizType) -> None:
    waits = jobs.create("ask", biz_id="41", delay=60, debounce_key="d").job_id
    with transaction.atomic():
        asked(debounce_key="d")
        lay_meanwhile(ask)

    assert Job.objects.get(id=waits).status == Status.CANCELLED
    assert json.loads(follow_up().body)["follows"]["id"] == str(waits)


def test_what_ran_before_its_biz_type_waited_for_answers_is_dead_and_has_the_follow_up_of_that(
    ask: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("after.death")
    BizType.objects.filter(code="ask").update(on_resolved="", on_dead="after.death", max_attempts=1)
    job_id = due("ask", biz_id="42")

    fail(job_id, meanwhile=lambda: lay_meanwhile(ask))

    assert Job.objects.get(id=job_id).status == Status.DEAD
    assert Job.objects.exclude(id=job_id).get().biz_type.code == "after.death"


def test_one_that_ran_then_and_is_to_be_tried_again_is_answered_when_its_time_comes(ask: BizType) -> None:
    BizType.objects.filter(code="ask").update(on_resolved="")
    job_id = due("ask", biz_id="42")

    def answer() -> None:
        BizType.objects.filter(code="ask").update(on_resolved="after.answer")
        biz_type_cache.clear()
        assert jobs.resolve("ask", "42", outcome="approved").running == [job_id]

    fail(job_id, meanwhile=answer)
    assert Job.objects.get().status == Status.PENDING
    Job.objects.update(next_run_at=timezone.now() - timedelta(seconds=1))
    Claimer(clock=RedisClock(client), worker="w", using="default").claim_due([job_id], now_ms=0)

    assert Job.objects.get(id=job_id).status == Status.CANCELLED
    assert json.loads(follow_up().body)["follows"]["answer"]["outcome"] == "approved"


def test_an_encrypted_job_that_takes_an_answer_from_before_it_encrypts_that(ask: BizType) -> None:
    now = timezone.now()
    jobs.resolve("ask", "42", outcome="approved", body={"pin": 1234})
    assert stored(Tombstone.objects.get(), "answer") == '{"pin":1234}'

    with transaction.atomic():
        taker = Taker(UUID(int=1), ask.pk, "42", is_resolved=True, is_sealed=True)
        taken = take_answers([taker], now=now, using="default")

    assert json.loads(taken[taker.job_id].body) == {"pin": 1234}
    assert is_sealed(stored(Tombstone.objects.get(), "answer"))
    assert json.loads(Tombstone.objects.get().answer) == {"pin": 1234}


@pytest.mark.parametrize("outcome", ["approved", "rejected"])
def test_a_question_that_follows_from_a_plan_s_answer_has_an_answer_of_its_own(
    make_biz_type: MakeBizType, outcome: str
) -> None:
    make_biz_type("decided")
    BizType.objects.filter(code="after.answer").update(on_resolved="decided", on_dead="")
    asked()
    jobs.resolve(PLAN, "42", outcome="approved")
    second = follow_up().id
    again = jobs.resolve(PLAN, "42", outcome="approved")  # its caller heard nothing
    assert (again.cancelled, follow_up().status) == ([], Status.PENDING)

    said = jobs.resolve("after.answer", "42", outcome=outcome)

    assert (said.answered, said.cancelled) == (second, [second])
    decided = json.loads(Job.objects.get(biz_type__code="decided").body)["follows"]
    assert (decided["id"], decided["answer"]["outcome"]) == (str(second), outcome)
    with pytest.raises(AlreadyAnswered):
        jobs.resolve("after.answer", "42", outcome="other")


def test_a_question_that_follows_from_a_plan_s_answer_did_not_get_that_too_late(make_biz_type: MakeBizType) -> None:
    make_biz_type("decided")
    make_biz_type("after.death")
    BizType.objects.filter(code="after.answer").update(on_resolved="decided", on_dead="after.death", max_attempts=1)
    asked()
    jobs.resolve(PLAN, "42", outcome="approved")

    fail(follow_up().id)

    follows = json.loads(Job.objects.get(biz_type__code="after.death").body)["follows"]
    assert (follows["id"], "late_answer" in follows) == (str(follow_up().id), False)


def test_an_answer_before_jobs_created_together_counts_though_others_of_them_wait_for_none(
    make_biz_type: MakeBizType,
) -> None:
    make_biz_type("remind")
    steps = [jobs.JobRequest("remind", biz_id="42", delay=30), jobs.JobRequest("ask", biz_id="42", delay=60)]
    keyed = [replace(one, idempotency_key=f"k:{place}") for place, one in enumerate(steps)]
    jobs.resolve(["remind", "ask"], "42", outcome="approved")

    made = jobs.create_many(keyed, together=True)
    again = jobs.create_many(keyed, together=True)

    assert [one.job.status for one in made] == [Status.CANCELLED] * 2
    assert [one.job_id for one in again] == [one.job_id for one in made]
    assert json.loads(follow_up().body)["follows"]["answer"]["outcome"] == "approved"
    with pytest.raises(KeyResolved):
        jobs.create_many(steps, together=True)


def test_another_answer_once_the_first_is_kept_no_more_comes_too_late() -> None:
    job_id = asked()
    jobs.resolve("ask", "42", outcome="approved")
    Tombstone.objects.all().delete()  # as the purger does after its week

    said = jobs.resolve("ask", "42", outcome="rejected")

    assert (said.answered, said.status, said.too_late) == (job_id, Status.CANCELLED, True)
    assert json.loads(follow_up().body)["follows"]["answer"]["outcome"] == "approved"
