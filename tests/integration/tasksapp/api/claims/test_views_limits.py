"""Claims over REST: whose they are, how pullers wait, and the limits that hold for them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import redis
from django.db import connections
from django.test import Client
from django.utils import timezone

from delayhub.local.redis_server import RedisServer
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, BizType, Job, Status
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.pulling.puller import ClaimToken, Puller
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.pulled_jobs import Pull, make_job, write_gates
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_limits_hold_for_pullers_where_redis_has_lost_them(
    report: BizType, pull: Pull, redis_client: redis.Redis
) -> None:
    BizType.objects.filter(pk=report.pk).update(max_in_flight=2)
    for _ in range(5):
        make_job()
    redis_client.delete("delayhub:{@pull:report}:report:gate")

    assert (len(pull(max=5)), len(pull(max=5))) == (2, 0)


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


def test_what_is_held_already_is_answered_where_the_rest_cannot_be_claimed(
    report: BizType, make_biz_type: MakeBizType
) -> None:
    other = make_biz_type("other", url="", target="pull")
    for code in ("report", "other"):
        jobs.create(code)
    asked = count(1)

    found = Puller(by=Actor("api:shop")).run_once([report, other], most=2, confirm=lambda: 1 / (2 - next(asked)))

    assert len(found.claims) == 1
    assert Job.objects.get(status=Status.RUNNING).id == found.claims[0].job.id


def test_a_released_job_uses_no_attempt_and_its_age_ends_it(report: BizType, pull: Pull, ask: Ask) -> None:
    BizType.objects.filter(pk=report.pk).update(max_attempts=2, max_age=timedelta(hours=1))
    make_job()

    for _ in range(5):
        (claim,) = pull()
        ask("POST", f"/claims/{claim['token']}/release", {"reason": "not yet"})
        job = Job.objects.get()
        assert (job.status, job.attempts) == (Status.PENDING, 0)
    Job.objects.update(due_at=timezone.now() - timedelta(hours=2))
    too_late = pull()

    assert too_late == []
    job = Job.objects.get()
    assert (job.status, job.attempts, job.error_class) == (Status.DEAD, 0, "max_age")
