"""A job that waits for an answer gets one follow-up: that of the answer, or that of its end, wherever it ends."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django import VERSION
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.errors import AlreadyAnswered, InvalidJob, KeyResolved
from tasksapp.jobs import completion, job_log
from tasksapp.jobs.called_off import call_off_old
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.maintenance.database_uptime import DatabaseUptime
from tasksapp.maintenance.lost_leases import LostLeases
from tasksapp.models import AuditEntry, BizType, Job, Status, Tenant, Tombstone
from tasksapp.sql.tombstones import prune_tombstones
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.operation_runs import planned
from tests.integration.tasksapp.stored_jobs import due
from tests.job_rows import store_job
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

KEY = {"biz_id": "42"}
CODES = {"yes": "after.answer", "ok": "after.success", "no": "after.death"}


@pytest.fixture(autouse=True)
def ask(make_biz_type: MakeBizType) -> BizType:
    """A biz type whose jobs wait for an answer, with all three follow-ups."""
    for code in CODES.values():
        make_biz_type(code)
    return make_biz_type("ask", on_resolved=CODES["yes"], on_success=CODES["ok"], on_dead=CODES["no"], max_attempts=1)


def asked(**fields: Any) -> UUID:
    return due("ask", **KEY, **fields)


def claimer() -> Claimer:
    return Claimer(clock=RedisClock(client), worker="w", using="default")


def begun(job_id: UUID) -> Any:
    """The running job."""
    held = claimer()
    (job,) = held.running_jobs(held.claim_due([job_id], now_ms=0))
    return job


def end(job: Any, how: Any, **fields: Any) -> None:
    finished = how(job, tried=tried(), **fields)
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, finished)])


def failed(job: Any) -> None:
    end(job, completion.failed, error_class="http.503", now=timezone.now())


def answer(outcome: str = "approved", body: Any = None, **fields: Any) -> jobs.Resolution:
    return jobs.resolve("ask", "42", outcome=outcome, body=body, **fields)


def followed() -> list[tuple[str, dict[str, Any]]]:
    """What follows: the codes of the biz types, and what is said of the job that is followed."""
    rows = Job.objects.exclude(biz_type__code="ask").order_by("id")
    return [(code, json.loads(body)["follows"]) for code, body in rows.values_list("biz_type__code", "body")]


def codes() -> list[str]:
    return [code for code, _ in followed()]


def status_of(job_id: UUID) -> tuple[str, str]:
    job = Job.objects.get(id=job_id)
    return job.status, job.last_error


def test_an_answer_in_time_calls_the_job_off_and_its_follow_up_has_the_answer(ask: BizType) -> None:
    job_id = asked(body={"amount": 3}, due_at=timezone.now() + timedelta(days=3))

    said = answer(body={"by": "ada"}, by=Actor("ada"))

    assert (said.accepted, said.cancelled, said.answered, said.status) == (True, [job_id], job_id, "cancelled")
    assert not said.too_late
    assert status_of(job_id) == (Status.CANCELLED, "resolved")
    ((code, follows),) = followed()
    assert (code, follows["status"], follows["id"]) == (CODES["yes"], "cancelled", str(job_id))
    assert follows["answer"].pop("at")
    assert follows["answer"] == {"outcome": "approved", "body": {"by": "ada"}, "by": "ada"}
    made = Job.objects.get(biz_type__code=CODES["yes"])
    assert (json.loads(made.body)["body"], made.biz_id, made.created_by) == ({"amount": 3}, "42", "follow-up")
    assert AuditEntry.objects.filter(job_id=None).get().after == {"outcome": "approved"}


def test_a_resolve_without_a_word_answers_too(ask: BizType) -> None:
    asked()

    jobs.resolve("ask", "42")

    assert [follows["answer"]["outcome"] for _, follows in followed()] == ["resolved"]


@pytest.mark.parametrize(
    ("how", "status", "follow_up"),
    [("fails", Status.CANCELLED, "yes"), ("dies", Status.CANCELLED, "yes"), ("succeeds", Status.SUCCEEDED, "ok")],
)
def test_one_that_runs_gets_the_follow_up_of_the_status_that_it_got(
    ask: BizType, how: str, status: Status, follow_up: str
) -> None:
    BizType.objects.filter(code="ask").update(max_attempts=2 if how == "fails" else 1)
    job_id = asked()
    job = begun(job_id)

    said = answer()
    assert (said.running, said.answered, said.status, said.too_late) == ([job_id], job_id, "running", True)
    assert followed() == []
    if how == "succeeds":
        end(job, completion.succeeded)
    else:
        failed(job)

    assert status_of(job_id)[0] == status
    ((code, follows),) = followed()
    assert code == CODES[follow_up]
    assert follows["answer" if follow_up == "yes" else "late_answer"]["outcome"] == "approved"
    assert Tombstone.objects.get().answered_job == job_id
    assert answer().too_late is (status is Status.SUCCEEDED)
    assert len(followed()) == 1


def test_one_whose_worker_is_lost_for_good_is_resolved_too(ask: BizType) -> None:
    BizType.objects.filter(code="ask").update(guarantee="at_most_once")
    job_id = asked()
    begun(job_id)
    answer()
    Job.objects.update(lease_until=timezone.now() - timedelta(days=1))

    uptime = DatabaseUptime(clock=SystemClock())
    uptime.covers_a_lease = lambda: True  # type: ignore[method-assign]  # it was up for long enough
    LostLeases(using="default", clock=SystemClock(), uptime=uptime).run_once()

    assert status_of(job_id) == (Status.CANCELLED, "resolved")
    assert codes() == [CODES["yes"]]


@pytest.mark.parametrize("late", [{}, {"max_age": timedelta(minutes=1)}])
def test_a_claim_that_finds_an_answer_makes_its_follow_up(ask: BizType, late: dict[str, Any]) -> None:
    BizType.objects.filter(code="ask").update(**late)
    slipped = store_job(ask, due_in=-timedelta(hours=1), **KEY)
    Job.objects.filter(id=slipped.id).delete()
    answer()
    Job.objects.bulk_create([slipped])  # as if its transaction were committed only now

    claimed = claimer().claim_due([slipped.id], now_ms=0)

    assert (claimed.claimed, claimed.ended, claimed.died) == ([], [slipped.id], [])
    assert status_of(slipped.id) == (Status.CANCELLED, "resolved")
    assert codes() == [CODES["yes"]]


def test_the_purger_answers_what_waits_beyond_the_tombstone(ask: BizType) -> None:
    slipped = store_job(ask, due_in=timedelta(days=60), **KEY)
    Job.objects.filter(id=slipped.id).delete()
    answer()
    Job.objects.bulk_create([slipped])
    later = timezone.now() + timedelta(days=9)

    assert prune_tombstones(before=later, using="default", limit=9) == 0
    assert call_off_old(before=later, limit=9, using="default") == 1
    assert prune_tombstones(before=later, using="default", limit=9) == 1

    assert status_of(slipped.id) == (Status.CANCELLED, "resolved")
    assert codes() == [CODES["yes"]]


def test_a_person_who_cancels_gives_no_answer_and_an_answer_to_that_is_too_late(ask: BizType) -> None:
    job_id = asked()
    jobs.cancel(job_id)

    said = answer()

    assert (said.answered, said.status, said.too_late) == (job_id, "cancelled", True)
    assert followed() == []
    with pytest.raises(KeyResolved):
        asked()


def test_of_several_jobs_of_a_biz_id_one_takes_the_answer(ask: BizType) -> None:
    first, second = asked(), asked()

    said = answer()

    assert said.cancelled == sorted([first, second])
    assert said.answered == first
    assert codes() == [CODES["yes"]]


def test_a_job_that_an_answer_saves_is_no_death_of_its_operation(ask: BizType) -> None:
    operation = planned(verb="run_now")
    job_id = asked()
    Job.objects.update(operation_id=operation.pk)
    job = begun(job_id)
    answer()

    failed(job)

    operation.refresh_from_db()
    assert (status_of(job_id)[0], operation.failed, operation.dead) == (Status.CANCELLED, 1, 0)


def test_another_tenant_s_question_of_the_same_name_is_another_one(ask: BizType, make_biz_type: MakeBizType) -> None:
    other = Tenant.objects.create(code="other", name="Other")
    make_biz_type(CODES["yes"], tenant=other)
    make_biz_type("ask", tenant=other, on_resolved=CODES["yes"])
    mine, theirs = asked(), asked(tenant="other")

    said = jobs.resolve("ask", "42", outcome="approved", tenant="other")

    assert (said.answered, status_of(mine)[0]) == (theirs, Status.PENDING)
    assert Job.objects.get(biz_type__code=CODES["yes"]).biz_type.tenant == other


def test_a_line_says_that_one_is_resolved_and_not_that_it_died(ask: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(job_log, "note", lambda event, job, biz_type, said, **_: lines.append(said))
    monkeypatch.setattr(job_log, "note_death", lambda *_, **__: lines.append("died"))
    job = begun(asked())
    answer()
    lines.clear()

    end(job, completion.gave_up, reason="status 410", error_class="http.410")

    assert lines == ["failed: status 410; it is resolved, and not tried again"]


# ------------------------------------------------------------ several answers


def test_the_first_answer_holds_and_the_same_one_once_more_changes_nothing(ask: BizType) -> None:
    job_id = asked()
    answer(body={"a": 1, "b": 2})
    before = Tombstone.objects.values().get()

    again = answer(body={"b": 2, "a": 1})
    for other in ({"outcome": "rejected"}, {"body": {"a": 2}}):
        with pytest.raises(AlreadyAnswered, match="answered with 'approved' already") as caught:
            answer(**{"outcome": "approved", "body": {"a": 1, "b": 2}, **other})
        assert caught.value.job_id == job_id
    jobs.resolve("ask", "42")  # says nothing else

    assert (again.answered, again.too_late, again.cancelled) == (job_id, False, [])
    assert {**Tombstone.objects.values().get(), "until": 0, "at": 0} == {**before, "until": 0, "at": 0}
    assert codes() == [CODES["yes"]]


def test_what_followed_from_is_not_lifted_and_what_nobody_took_is(ask: BizType) -> None:
    asked()
    answer()

    with pytest.raises(AlreadyAnswered):
        jobs.lift("ask", "42")
    jobs.resolve("ask", "43", outcome="approved")
    assert jobs.lift("ask", "43") == 1
    assert Tombstone.objects.get().biz_id == "42"


@pytest.mark.parametrize("said", [{"outcome": "approved"}, {"body": 1}])
def test_an_answer_that_nobody_hears_is_refused(biz_type: BizType, said: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob, match="none of these has") as caught:
        jobs.resolve(biz_type.code, "42", **said)

    assert (caught.value.field, caught.value.code) == ("outcome", "not_heard")
    assert not Tombstone.objects.exists()


# ------------------------------------------------------------ before the question


def test_an_answer_before_the_question_counts(ask: BizType) -> None:
    said = answer()

    made = jobs.create("ask", biz_id="42", delay=60, body={"amount": 3}, idempotency_key="k")
    again = jobs.create("ask", biz_id="42", delay=60, body={"amount": 3}, idempotency_key="k")

    assert (said.answered, said.too_late, said.cancelled) == (None, False, [])
    assert (made.created, made.job.status, made.job.last_error) == (True, Status.CANCELLED, "resolved")
    assert (again.created, again.job_id) == (False, made.job_id)
    assert Tombstone.objects.get().answered_job == made.job_id
    assert codes() == [CODES["yes"]]


def test_it_answers_one_job_and_none_where_the_transaction_is_rolled_back(ask: BizType) -> None:
    answer()

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        asked()
        raise ZeroDivisionError
    assert (Job.objects.count(), Tombstone.objects.get().answered_job) == (0, None)
    taken = asked()
    with pytest.raises(KeyResolved):
        asked()

    assert status_of(taken)[0] == Status.CANCELLED
    assert codes() == [CODES["yes"]]


def test_a_question_whose_transaction_was_open_is_answered_when_it_is_committed(ask: BizType) -> None:
    with transaction.atomic():
        job_id = asked(due_at=timezone.now() + timedelta(days=3))
        Tombstone.objects.create(
            biz_type=ask, biz_id="42", at=timezone.now(), until=timezone.now() + timedelta(days=7), outcome="approved"
        )
        BizType.objects.filter(code="ask").update(has_tombstones=True)

    assert status_of(job_id) == (Status.CANCELLED, "resolved")
    assert codes() == [CODES["yes"]]


def test_a_bulk_has_what_is_answered_and_what_is_not(ask: BizType) -> None:
    answer()

    first, second, other = jobs.create_many([jobs.JobRequest("ask", biz_id=number) for number in ("42", "43", "44")])

    assert [one.job.status for one in (first, second, other)] == ["cancelled", "pending", "pending"]  # type: ignore[union-attr]  # none is rejected


# ------------------------------------------------------------ what keeps follow-ups from being made


@pytest.mark.parametrize("code", ["yes", "ok"])
def test_an_answer_to_a_plan_does_not_call_off_what_follows_from_it(ask: BizType, code: str) -> None:
    BizType.objects.filter(code=CODES[code]).update(insert_rate=0.001, insert_burst=1)
    job_id = asked()
    job = begun(job_id) if code == "ok" else None

    jobs.resolve(["ask", CODES[code]], "42", outcome="approved")
    if job is not None:
        end(job, completion.succeeded)
    jobs.resolve(["ask", CODES[code]], "42", outcome="approved")  # its caller heard nothing

    made = Job.objects.exclude(biz_type__code="ask").get()
    assert [one.id for one in claim(made.id, now=timezone.now() + timedelta(seconds=1)).claimed] == [made.id]
    jobs.resolve(CODES[code], "42")
    assert Job.objects.exclude(biz_type__code="ask").get().status == Status.RUNNING


def test_a_resolve_that_comes_later_calls_a_follow_up_off(ask: BizType) -> None:
    asked()
    jobs.resolve(["ask", CODES["yes"]], "42", outcome="approved")

    jobs.resolve(CODES["yes"], "42")

    assert Job.objects.get(biz_type__code=CODES["yes"]).status == Status.CANCELLED


def test_where_none_can_be_made_the_job_says_so(ask: BizType, caplog: pytest.LogCaptureFixture) -> None:
    BizType.objects.filter(code=CODES["yes"]).update(enabled=False)
    job_id = asked()

    answer()

    assert status_of(job_id) == (
        Status.CANCELLED,
        "resolved; no job of after.answer follows: the biz type after.answer is disabled",
    )
    assert "no job of after.answer follows" in caplog.text


# ------------------------------------------------------------ what others pay


def test_biz_types_without_it_pay_no_statement(biz_type: BizType, ask: BizType) -> None:
    def statements(code: str) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            end(begun(due(code, biz_id="7")), completion.succeeded)
        return [each["sql"] for each in queries if not each["sql"].startswith("PREPARE")]

    _first, plain, asking = map(statements, (biz_type.code, biz_type.code, "ask"))  # the first ones read biz types

    # On PostgreSQL one statement creates a job, one claims it and one writes what it becomes.
    assert len(plain) == (3 if connection.vendor == "postgresql" else 12 if VERSION < (6, 1) else 10)
    assert not [sql for sql in plain if '"delayhub_tombstone"' in sql]
    # One looks for an answer when the job is committed, and one takes it when the job has ended.
    assert len([sql for sql in asking if '"delayhub_tombstone"' in sql]) == 2
