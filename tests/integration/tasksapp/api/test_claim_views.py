"""Pulled jobs over REST: claimed, done, failed, extended, given back; by their own tokens, and within all limits."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import connections
from django.test import Client
from django.utils import timezone

from delayhub.local.redis_server import RedisServer
from tasksapp import jobs
from tasksapp.access.keys import issue_key
from tasksapp.maintenance.gate_writer import GateWriter
from tasksapp.models import ApiKey, Attempt, BizType, Job, Pulse, Status
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.pulling.claim_token import ClaimToken
from tasksapp.pulling.puller import redis_clock
from tests.fixture_types import Ask, Fire, MakeBizType
from tests.integration.tasksapp.claiming import return_lost
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

#: ``pull(**fields)`` claims jobs of the biz type, and gives the claims.
Pull = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def report(make_biz_type: MakeBizType) -> BizType:
    """A biz type whose jobs are pulled."""
    return make_biz_type("report", url="", target="pull", timeout_seconds=20, backoff_min_seconds=50, jitter=0)


@pytest.fixture
def client() -> Client:
    """A client of a web server that has several threads."""
    return Client(**{"wsgi.multithread": True})


@pytest.fixture
def _room(settings: Any, _private_redis: None) -> None:
    """Two requests may wait."""
    settings.DELAYHUB = {**settings.DELAYHUB, "LONG_POLLS": 2}


def is_waiting(redis_client: redis.Redis) -> bool:
    """Whether a puller waits at a bell."""
    return any(each["cmd"] == "blpop" for each in redis_client.client_list())


@pytest.fixture
def puller(key: str) -> ApiKey:
    """The caller's key, which may do nothing but pull."""
    ApiKey.objects.filter(name="caller").update(scopes=["jobs:pull"])
    return ApiKey.objects.get(name="caller")


@pytest.fixture
def pull(report: BizType, puller: ApiKey, ask: Ask) -> Pull:
    def claim(**fields: Any) -> list[dict[str, Any]]:
        answer = ask("POST", "/claims", {"biz_types": ["report"], **fields})
        assert answer.status_code == 200, answer.content
        found: list[dict[str, Any]] = json.loads(answer.content)["claims"]
        return found

    return claim


def write_gates(*biz_types: BizType) -> None:
    """Does what a turn of the loader does."""
    for biz_type in biz_types:
        biz_type.refresh_from_db()
    GateWriter(clock=redis_clock()).run_once(biz_types, all_of_them=True)


def make_job(**fields: Any) -> UUID:
    job_id: UUID = jobs.create("report", **fields).job_id
    return job_id


# ---------------------------------------------------------------- the claim


def test_a_claim_has_what_a_callback_would_have_and_the_exact_body(ask_fully: Ask, report: BizType) -> None:
    # Python would write 1.10 as 1.1, and leave the blanks out.
    raw = b'{"biz_type": "report", "biz_id": "r-1", "body": {"amount":  1.10, "n": 12345678901234567890}}'
    made = json.loads(ask_fully("POST", "/jobs", raw).content)

    answer = ask_fully("POST", "/claims", {"biz_types": ["report"], "lease_seconds": 90})

    assert b'"body":{"amount":  1.10, "n": 12345678901234567890}}]}' in answer.content
    (claim,) = json.loads(answer.content)["claims"]
    assert (claim["job_id"], claim["biz_type"], claim["biz_id"]) == (made["id"], "report", "r-1")
    assert (claim["attempt"], claim["max_attempts"], claim["deadline"], claim["lease_seconds"]) == (1, 16, None, 90)
    assert claim["headers"]["webhook-id"] == made["id"]
    assert claim["headers"]["delayhub-biz-type"] == "report"
    assert {"webhook-timestamp", "delayhub-due-at", "delayhub-lateness-ms"} < claim["headers"].keys()
    job = Job.objects.get()
    assert (job.status, job.worker) == (Status.RUNNING, "api:caller")
    assert job.lease_until is not None
    assert timedelta(seconds=80) < job.lease_until - timezone.now() < timedelta(seconds=95)


def test_without_a_lease_a_claim_lasts_for_the_timeout_of_the_biz_type(pull: Pull) -> None:
    make_job()

    (claim,) = pull()

    assert claim["lease_seconds"] == 20
    lease_until = Job.objects.get().lease_until
    assert lease_until is not None
    assert timedelta(seconds=15) < lease_until - timezone.now() < timedelta(seconds=21)


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


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "biz_types"),
        ({"biz_types": []}, "biz_types"),
        ({"biz_types": "report"}, "biz_types"),
        ({"biz_types": ["gone"]}, "biz_types"),
        ({"biz_types": [7]}, "biz_types"),
        ({"biz_types": ["report"], "max": 0}, "max"),
        ({"biz_types": ["report"], "max": True}, "max"),
        ({"biz_types": ["report"], "max": 101}, "max"),
        ({"biz_types": ["report"], "wait": 31}, "wait"),
        ({"biz_types": ["report"], "wait": 1.5}, "wait"),
        ({"biz_types": ["report"], "lease_seconds": 0.5}, "lease_seconds"),
        ({"biz_types": ["report"], "lease_seconds": 3601}, "lease_seconds"),
        ({"biz_types": ["report"], "lease_seconds": "60"}, "lease_seconds"),
        ({"biz_types": ["report"], "colour": 1}, "colour"),
    ],
)
def test_a_claim_that_cannot_be_is_refused_by_the_name_of_the_field(
    pull: Pull, ask: Ask, body: dict[str, Any], field: str
) -> None:
    make_job()

    answer = ask("POST", "/claims", body)

    assert answer.status_code == 400, answer.content
    assert json.loads(answer.content)["errors"][0]["field"] == field
    assert Job.objects.get().status == Status.PENDING


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

    answer = ask("POST", f"/claims/{claim['token']}/fail", body)

    assert json.loads(answer.content)["status"] == status
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.status, job.attempts, job.last_error, job.error_class) == (status, 1, "busy", "puller")
    assert attempt.error == "busy"
    if seconds is not None:
        assert abs((job.next_run_at - timezone.now()).total_seconds() - seconds) < 3
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
    (claim,) = pull(lease_seconds=5)

    answer = ask("POST", f"/claims/{claim['token']}/extend", {"lease_seconds": 600})

    lease_until = Job.objects.get().lease_until
    assert answer.status_code == 200
    assert lease_until is not None
    assert abs((lease_until - timezone.now()).total_seconds() - 600) < 5
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


@pytest.mark.parametrize(
    ("verb", "body", "field"),
    [
        ("done", {"note": 7}, "note"),
        ("done", {"note": "a\0b"}, "note"),
        ("fail", {"reason": "x" * 401}, "reason"),
        ("fail", {"retry_in": -1}, "retry_in"),
        ("fail", {"retry_in": 604_801}, "retry_in"),
        ("fail", {"dead": 1}, "dead"),
        ("fail", {"dead": True, "retry_in": 5}, "retry_in"),
        ("release", {"note": ""}, "note"),
        ("extend", {"lease_seconds": 0}, "lease_seconds"),
    ],
)
def test_what_cannot_be_said_of_a_claim_is_refused_and_changes_nothing(
    pull: Pull, ask: Ask, verb: str, body: dict[str, Any], field: str
) -> None:
    make_job()
    (claim,) = pull()

    answer = ask("POST", f"/claims/{claim['token']}/{verb}", body)

    assert (answer.status_code, json.loads(answer.content)["errors"][0]["field"]) == (400, field)
    assert Job.objects.get().status == Status.RUNNING


# ---------------------------------------------------------------- whose claims they are


def test_a_token_is_worth_nothing_to_another_biz_types_key_or_another_lease(
    pull: Pull, ask_as: Callable[[str], Ask], make_biz_type: MakeBizType
) -> None:
    make_job()
    (claim,) = pull()
    other = make_biz_type("other", url="", target="pull")
    limited = ask_as(issue_key("limited", scopes=["jobs:pull"], biz_type_ids=[other.pk]).key)
    fellow = ask_as(issue_key("fellow", scopes=["jobs:pull"], tenant_id=DEFAULT_TENANT).key)
    held = ClaimToken.parse(claim["token"])
    assert held is not None

    for verb in ("done", "fail", "extend", "release"):
        assert limited("POST", f"/claims/{claim['token']}/{verb}", {}).status_code == 404
        assert fellow("POST", f"/claims/{held._replace(lease=held.lease ^ 1)}/{verb}", {}).status_code in {200, 409}

    assert limited("POST", "/claims", {"biz_types": ["report"]}).status_code == 400
    assert Job.objects.get().status == Status.RUNNING
    # Who has the token of a claim of the tenant may end it: a colleague's script, or a key that was replaced.
    assert fellow("POST", f"/claims/{claim['token']}/done", {}).status_code == 200


@pytest.mark.parametrize("token", ["x", "A" * 32, "A" * 31])
def test_what_is_no_token_is_not_found(pull: Pull, ask: Ask, token: str) -> None:
    assert ask("POST", f"/claims/{token}/done", {}).status_code == 404


@pytest.mark.usefixtures("_room")
def test_a_key_that_is_revoked_while_it_waits_gets_nothing(pull: Pull, ask: Ask, redis_client: redis.Redis) -> None:
    answers: list[Any] = []

    def wait() -> None:
        try:
            answers.append(ask("POST", "/claims", {"biz_types": ["report"], "wait": 20}))
        finally:
            connections.close_all()

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: is_waiting(redis_client))
    ApiKey.objects.filter(name="caller").update(enabled=False, version=2)
    make_job()
    thread.join(15)

    assert answers[0].status_code == 401
    assert Job.objects.get().status == Status.PENDING


# ---------------------------------------------------------------- waiting and limits


@pytest.mark.usefixtures("_room")
@pytest.mark.parametrize("delay", [0, 0.7], ids=["a job that comes", "a job whose time comes"])
def test_a_waiting_puller_gets_a_job_as_soon_as_it_is_due(pull: Pull, redis_client: redis.Redis, delay: float) -> None:
    got: list[dict[str, Any]] = []

    def wait() -> None:
        try:
            got.extend(pull(wait=20))
        finally:
            connections.close_all()

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: is_waiting(redis_client))
    job_id = make_job(delay=delay)
    thread.join(15)

    assert [claim["job_id"] for claim in got] == [str(job_id)]
    assert int(got[0]["headers"]["delayhub-lateness-ms"]) < 10_000


def test_without_room_a_puller_may_claim_but_not_wait(pull: Pull, ask: Ask, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LONG_POLLS": 0}

    nothing_due = ask("POST", "/claims", {"biz_types": ["report"], "wait": 20})
    make_job()
    due = ask("POST", "/claims", {"biz_types": ["report"], "wait": 20})

    assert (nothing_due.status_code, json.loads(nothing_due.content)["code"]) == (429, "too_many_waits")
    assert len(json.loads(due.content)["claims"]) == 1


def test_limits_and_a_pause_hold_for_pullers(report: BizType, pull: Pull, ask: Ask) -> None:
    BizType.objects.filter(pk=report.pk).update(max_in_flight=2)
    write_gates(report)
    for _ in range(5):
        make_job()

    first, full = pull(max=5), pull(max=5)
    ask("POST", f"/claims/{first[0]['token']}/done", {})
    one_more = pull(max=5)
    ask("POST", f"/claims/{first[1]['token']}/release", {"retry_in": 60})
    ask("POST", f"/claims/{one_more[0]['token']}/fail", {})
    BizType.objects.filter(pk=report.pk).update(paused_until=timezone.now() + timedelta(hours=1))
    paused = pull(max=5)

    assert (len(first), len(full), len(one_more), paused) == (2, 0, 1, [])
    BizType.objects.filter(pk=report.pk).update(paused_until=None, max_in_flight=None, delivery_rate=0.001)
    write_gates(report)
    Job.objects.filter(status=Status.PENDING).update(next_run_at=timezone.now() - timedelta(seconds=1))
    assert len(pull(max=5)) <= 1, "one permit, and the next in a quarter of an hour"


def test_a_slot_is_held_as_long_as_an_extended_lease(
    report: BizType, pull: Pull, ask: Ask, redis_client: redis.Redis
) -> None:
    BizType.objects.filter(pk=report.pk).update(max_in_flight=1)
    write_gates(report)
    make_job()
    (claim,) = pull(lease_seconds=1800)
    held = "delayhub:{@pull:report}:report:in_flight"

    now_ms = redis_now_ms(redis_client)
    first = redis_client.zscore(held, claim["job_id"])
    ask("POST", f"/claims/{claim['token']}/extend", {"lease_seconds": 3600})
    second = redis_client.zscore(held, claim["job_id"])

    assert first is not None
    assert second is not None
    assert first - now_ms > 1_800_000
    assert second - now_ms > 3_600_000


def test_two_pullers_race_and_each_job_is_claimed_once(report: BizType, puller: ApiKey, key: str) -> None:
    ids = [str(created.job_id) for created in jobs.create_many([jobs.JobRequest("report") for _ in range(1_000)])]
    seen: Counter[str] = Counter()
    faults: list[Any] = []

    def work() -> None:
        client, mine = Client(), []
        try:
            while True:
                answer = client.post(
                    "/api/v1/claims",
                    {"biz_types": ["report"], "max": 100},
                    content_type="application/json",
                    headers={"authorization": f"Bearer {key}"},
                )
                claims = json.loads(answer.content).get("claims")
                if not claims:
                    break
                mine += [claim["job_id"] for claim in claims]
        except Exception as error:
            faults.append(error)
            raise
        finally:
            connections.close_all()
            seen.update(mine)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert not faults
    assert seen == Counter(ids), "each once"
    assert Job.objects.filter(status=Status.RUNNING).count() == 1_000


def test_while_redis_is_away_claims_say_so_and_those_that_are_held_can_be_ended(
    pull: Pull, ask: Ask, redis_server: RedisServer, settings: Any
) -> None:
    make_job()
    (claim,) = pull()
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    refused = ask("POST", "/claims", {"biz_types": ["report"]})
    extended = ask("POST", f"/claims/{claim['token']}/extend", {"lease_seconds": 60})
    done = ask("POST", f"/claims/{claim['token']}/done", {})

    assert (refused.status_code, json.loads(refused.content)["code"], refused["Retry-After"]) == (
        503,
        "redis_away",
        "2",
    )
    assert (extended.status_code, done.status_code) == (200, 200)
    assert Job.objects.get().status == Status.SUCCEEDED


def test_where_the_rows_cannot_be_claimed_their_timers_wait_again(
    pull: Pull, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_job()
    with monkeypatch.context() as patched:
        patched.setattr("tasksapp.jobs.claimer.claim_jobs", lambda *_, **__: 1 / 0)
        assert ask("POST", "/claims", {"biz_types": ["report"]}).status_code == 500

    assert len(pull()) == 1, "at once, not after the engine's lease"
