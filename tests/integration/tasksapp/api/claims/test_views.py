"""Claims over REST: what they have by ``puller``, and how they end by ``held_claim``, by ``representation``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection, connections
from django.utils import timezone

from tasksapp import jobs
from tasksapp.models import Attempt, BizType, Job, Pulse, Status
from tests.elapsed import is_after
from tests.fixture_types import Ask, Fire, MakeBizType
from tests.integration.tasksapp.api.pulled_jobs import Pull, make_job
from tests.integration.tasksapp.claiming import return_lost
from tests.integration.tasksapp.conflicting import conflict

pytestmark = pytest.mark.django_db(transaction=True)

# ---------------------------------------------------------------- the claim


def test_a_claim_has_what_a_callback_would_have_and_the_exact_body(ask_fully: Ask, report: BizType) -> None:
    # Python would write 1.10 as 1.1, and leave the blanks out.
    raw = b'{"biz_type": "report", "biz_id": "r-1", "body": {"amount":  1.10, "n": 12345678901234567890}}'
    made = json.loads(ask_fully("POST", "/jobs", raw).content)
    Job.objects.update(occurrence_at=datetime(2027, 1, 31, 8, 30, tzinfo=UTC))

    before = timezone.now()
    answer = ask_fully("POST", "/claims", {"biz_types": ["report"], "lease_seconds": 90})

    assert b'"body":{"amount":  1.10, "n": 12345678901234567890}}]}' in answer.content
    (claim,) = json.loads(answer.content)["claims"]
    assert (claim["job_id"], claim["biz_type"], claim["biz_id"]) == (made["id"], "report", "r-1")
    assert (claim["attempt"], claim["max_attempts"], claim["deadline"], claim["lease_seconds"]) == (1, 16, None, 90)
    assert claim["headers"]["webhook-id"] == made["id"]
    assert claim["headers"]["delayhub-biz-type"] == "report"
    assert claim["headers"]["delayhub-occurrence-at"] == "2027-01-31T08:30:00.000+00:00"
    assert {"webhook-timestamp", "delayhub-due-at", "delayhub-lateness-ms"} < claim["headers"].keys()
    job = Job.objects.get()
    assert (job.status, job.worker) == (Status.RUNNING, "api:caller")
    assert is_after(job.lease_until, seconds=90, since=before)


@pytest.mark.parametrize(
    ("max_age", "own", "hours"),
    [(None, None, None), (timedelta(hours=2), None, 2), (None, timedelta(hours=3), 3)]
    + [(timedelta(hours=2), timedelta(hours=own), min(2, own)) for own in (1, 3)],
)
def test_the_deadline_of_a_claim_is_the_earlier_of_both_ends(
    report: BizType, pull: Pull, max_age: timedelta | None, own: timedelta | None, hours: int | None
) -> None:
    BizType.objects.filter(pk=report.pk).update(max_age=max_age)
    made = timezone.now()
    make_job(expires_at=None if own is None else made + own)

    (claim,) = pull()

    given = None if claim["deadline"] is None else datetime.fromisoformat(claim["deadline"]) - made
    assert given is None if hours is None else given is not None
    if given is not None and hours is not None:
        assert abs(given.total_seconds() - 3600 * hours) < 60


def test_without_a_lease_a_claim_lasts_for_the_timeout_of_the_biz_type(pull: Pull) -> None:
    make_job()
    before = timezone.now()

    (claim,) = pull()

    assert claim["lease_seconds"] == 20
    assert is_after(Job.objects.get().lease_until, seconds=20, since=before)


def test_no_worker_takes_a_pulled_job_and_no_puller_one_of_a_worker(
    pull: Pull, fire: Fire, ask: Ask, make_biz_type: MakeBizType
) -> None:
    make_biz_type("called")
    pulled = make_job()

    fired = fire()
    refused = ask("POST", "/claims", {"biz_types": ["called"]})

    assert fired == []
    assert (refused.status_code, json.loads(refused.content)["errors"][0]["code"]) == (400, "not_pulled")
    assert [claim["job_id"] for claim in pull()] == [str(pulled)]


def test_jobs_whose_biz_type_becomes_pulled_go_over_to_pullers(
    make_biz_type: MakeBizType, ask_fully: Ask, fire: Fire
) -> None:
    biz_type = make_biz_type("report")
    job_id = make_job()
    biz_type.target = "pull"
    biz_type.save()

    assert fire() == [str(job_id)], "its timer is still where workers look"
    assert Job.objects.get().status == Status.PENDING
    (claim,) = json.loads(ask_fully("POST", "/claims", {"biz_types": ["report"]}).content)["claims"]
    assert claim["job_id"] == str(job_id)


# ---------------------------------------------------------------- how a claim ends


def test_a_job_that_is_done_has_an_attempt_that_says_who_pulled_it(pull: Pull, ask: Ask) -> None:
    make_job()
    (claim,) = pull()

    answer = ask("POST", f"/claims/{claim['token']}/done", {"note": "built"}, **{"x-request-id": "req-7"})

    shown = json.loads(answer.content)
    assert answer.status_code == 200
    assert (shown["outcome"], shown["status"], shown["repeated"]) == ("done", "succeeded", False)
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.status, job.attempts, job.lease_token) == (Status.SUCCEEDED, 1, None)
    assert (attempt.number, attempt.worker, attempt.request_line) == (1, "api:caller", "pulled by api:caller")
    assert (attempt.error, attempt.response_body, attempt.status_code) == ("", "built", None)
    assert attempt.response_headers == {"X-Request-Id": "req-7"}
    assert claim["token"] not in str(attempt.request_headers)
    assert Pulse.objects.filter(kind=Pulse.Kind.SUCCEEDED).count() >= 1


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [("done", {}, "succeeded"), ("fail", {"reason": "no"}, "pending"), ("release", {}, "pending")],
)
def test_the_same_token_twice_answers_the_same(
    pull: Pull, ask: Ask, verb: str, body: dict[str, Any], status: str
) -> None:
    make_job()
    (claim,) = pull()

    first, second = (json.loads(ask("POST", f"/claims/{claim['token']}/{verb}", body).content) for _ in range(2))

    assert (first["status"], first["repeated"]) == (status, False)
    assert second == {**first, "repeated": True}
    assert Attempt.objects.count() == (verb != "release")


@pytest.mark.parametrize(
    ("body", "status", "seconds"),
    [
        # by the backoff
        ({"reason": "busy"}, "pending", 50),
        ({"reason": "busy", "retry_in": 7}, "pending", 7),
        ({"reason": "busy", "dead": True}, "dead", None),
    ],
)
def test_a_failure_follows_the_policy_or_what_the_puller_says(
    pull: Pull, ask: Ask, body: dict[str, Any], status: str, seconds: float | None
) -> None:
    make_job()
    (claim,) = pull()

    before = timezone.now()
    answer = ask("POST", f"/claims/{claim['token']}/fail", body)

    assert json.loads(answer.content)["status"] == status
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.status, job.attempts, job.last_error, job.error_class) == (status, 1, "busy", "puller")
    assert attempt.error == "busy"
    if seconds is not None:
        assert is_after(job.next_run_at, seconds=seconds, since=before)
        assert pull() == [], "it waits"


def test_a_job_whose_attempts_are_used_up_is_dead(report: BizType, pull: Pull, ask: Ask) -> None:
    make_job(max_attempts=2)
    for _ in range(2):
        (claim,) = pull()
        ask("POST", f"/claims/{claim['token']}/fail", {"reason": "no", "retry_in": 0})

    job = Job.objects.get()
    assert (job.status, job.attempts) == (Status.DEAD, 2)
    assert "all 2 attempts failed" in job.last_error


def test_a_job_that_is_given_back_uses_no_attempt_and_comes_at_once(pull: Pull, ask: Ask) -> None:
    make_job()
    (claim,) = pull()

    ask("POST", f"/claims/{claim['token']}/release", {"reason": "closing"})

    job = Job.objects.get()
    assert (job.status, job.attempts, job.system_errors) == (Status.PENDING, 0, 0)
    assert job.last_error == "given back by api:caller: closing"
    (again,) = pull()
    assert (again["job_id"], again["attempt"]) == (claim["job_id"], 1)
    assert again["token"] != claim["token"]


def test_a_lease_is_extended_from_now(pull: Pull, ask: Ask) -> None:
    make_job()
    (claim,) = pull(lease_seconds=60)
    before = timezone.now()

    answer = ask("POST", f"/claims/{claim['token']}/extend", {"lease_seconds": 600})

    assert answer.status_code == 200
    assert is_after(Job.objects.get().lease_until, seconds=600, since=before)
    assert return_lost(now=timezone.now() + timedelta(seconds=500)) == []


def test_a_lease_that_ended_is_swept_as_that_of_a_lost_worker(pull: Pull, ask: Ask) -> None:
    make_job()
    (claim,) = pull(lease_seconds=1)

    (returned,) = return_lost(now=timezone.now() + timedelta(seconds=2))
    late = {verb: ask("POST", f"/claims/{claim['token']}/{verb}", {}) for verb in ("done", "fail", "extend")}
    release = ask("POST", f"/claims/{claim['token']}/release", {})

    assert (returned.status, returned.attempts, returned.system_errors) == (
        Status.PENDING,
        0,
        0 + returned.system_errors,
    )
    assert returned.last_error == "system: the lease of its puller ended"
    for answer in late.values():
        problem = json.loads(answer.content)
        assert (answer.status_code, problem["code"], problem["state"]) == (409, "claim_lost", "pending")
        assert "the job is pending again" in problem["detail"]
        assert problem["job_id"] == claim["job_id"]
    assert (release.status_code, json.loads(release.content)["repeated"]) == (200, True)
    job = Job.objects.get()
    assert (job.status, job.system_errors, Attempt.objects.count()) == (Status.PENDING, 1, 0)


def test_done_after_fail_is_refused_and_says_how_the_claim_ended(pull: Pull, ask: Ask) -> None:
    make_job()
    (claim,) = pull()
    ask("POST", f"/claims/{claim['token']}/fail", {"dead": True})

    answer = ask("POST", f"/claims/{claim['token']}/done", {})

    problem = json.loads(answer.content)
    assert (answer.status_code, problem["code"], problem["state"]) == (409, "claim_lost", "dead")
    assert "was ended before, as failed; the job is dead" in problem["detail"]


def test_at_most_once_counts_at_the_claim_and_a_failure_is_final(make_biz_type: MakeBizType, ask_fully: Ask) -> None:
    make_biz_type("once", url="", target="pull", guarantee="at_most_once")
    failed, lost = jobs.create("once").job_id, jobs.create("once").job_id
    answer = ask_fully("POST", "/claims", {"biz_types": ["once"], "max": 2, "lease_seconds": 1})
    tokens = {claim["job_id"]: claim["token"] for claim in json.loads(answer.content)["claims"]}
    assert set(Job.objects.values_list("attempts", flat=True)) == {1}

    ask_fully("POST", f"/claims/{tokens[str(failed)]}/fail", {"reason": "no"})
    return_lost(now=timezone.now() + timedelta(seconds=2))

    assert set(Job.objects.values_list("id", "status", "error_class")) == {
        (failed, "dead", "puller"),
        (lost, "dead", "outcome_unknown"),
    }


def test_a_job_that_is_too_old_or_too_late_is_not_given_out(make_biz_type: MakeBizType, ask_fully: Ask) -> None:
    make_biz_type("aged", url="", target="pull", max_age=timedelta(minutes=1))
    make_biz_type("late", url="", target="pull", max_lateness=timedelta(minutes=1), when_late="skip")
    for code in ("aged", "late"):
        jobs.create(code, due_at=timezone.now() - timedelta(hours=1))

    answer = ask_fully("POST", "/claims", {"biz_types": ["aged", "late"], "max": 9})

    assert json.loads(answer.content) == {"claims": []}
    assert set(Job.objects.values_list("biz_type__code", "status")) == {("aged", "dead"), ("late", "skipped")}


@pytest.mark.postgresql_only
def test_an_end_whose_answer_waits_for_a_lock_is_not_denied_and_is_answered_again(
    pull: Pull, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_job()
    (claim,) = pull()
    other = connection.copy()

    def lock_jobs(*, using: str) -> None:
        """The outcome is stored by now; the answer is not read yet."""
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE delayhub_job IN ACCESS EXCLUSIVE MODE")
        with connections[using].cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")

    monkeypatch.setattr("tasksapp.pulling.held_claim.pulse_recorder.run_once", lock_jobs)
    try:
        first = ask("POST", f"/claims/{claim['token']}/done", {})
    finally:
        other.close()
    second = ask("POST", f"/claims/{claim['token']}/done", {})

    assert (first.status_code, first.json()["code"]) == (503, "database_locked")
    assert "what waited for it was not done. Ask again" in first.json()["detail"]
    assert (second.status_code, second.json()["repeated"], Job.objects.get().status) == (200, True, "succeeded")
    connection.close()  # with its lock_timeout


def test_a_claim_that_meets_others_after_it_has_jobs_is_no_empty_answer(
    ask_fully: Ask, report: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made again, it would find no job that is pending, and say that none is due."""
    make_job()
    monkeypatch.setattr("tasksapp.api.claims.views.claims_json", Mock(side_effect=[conflict(), b'{"claims":[]}']))

    answer = ask_fully("POST", "/claims", {"biz_types": ["report"]})

    assert (answer.status_code, json.loads(answer.content)["code"]) == (503, "write_conflict")
