"""Two tenants with the same codes, biz ids and keys: neither sees the other, on no path of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasksapp import jobs
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, BizType, Job, Operation, Status, Tenant
from tasksapp.models.api_key import Scope
from tests.fixture_types import Ask, Fire, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.integration.tasksapp.operation_runs import dead_jobs, turns, until, worked_off
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "biz_id": "42", "delay": 600, "body": {"order": 42}}


@pytest.fixture
def acme(db: None) -> Tenant:
    """The other tenant."""
    return Tenant.objects.create(code="acme")


@pytest.fixture
def theirs(acme: Tenant, biz_type: BizType, make_biz_type: MakeBizType) -> BizType:
    """The other tenant's biz type, of the same code."""
    return make_biz_type(biz_type.code, tenant=acme)


@pytest.fixture
def ask_as_acme(acme: Tenant, ask_as: Callable[[str], Ask]) -> Ask:
    """Asks the API as the other tenant."""
    return ask_as(issue_key("theirs", tenant=acme, scopes=list(Scope.values)).key)


@pytest.mark.parametrize("keyed", [{}, {"idempotency_key": "once"}, {"debounce_key": "quiet"}])
def test_the_same_request_makes_a_job_for_each(
    ask: Ask, ask_as_acme: Ask, theirs: BizType, keyed: dict[str, str]
) -> None:
    mine, other = ask("POST", "/jobs", {**JOB, **keyed}), ask_as_acme("POST", "/jobs", {**JOB, **keyed})

    assert (mine.status_code, other.status_code) == (201, 201)
    assert Job.objects.get(id=mine.json()["id"]).biz_type != theirs
    assert Job.objects.get(id=other.json()["id"]).biz_type == theirs


def test_another_tenants_idempotency_key_with_another_body_is_no_conflict(
    ask: Ask, ask_as_acme: Ask, theirs: BizType
) -> None:
    ask("POST", "/jobs", {**JOB, "idempotency_key": "once"})

    other = ask_as_acme("POST", "/jobs", {**JOB, "idempotency_key": "once", "body": "another"})

    assert other.status_code == 201


def test_a_bulk_makes_jobs_of_the_callers_own_biz_types(
    ask_as_acme: Ask, theirs: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("ours.only")

    answer = ask_as_acme("POST", "/jobs/bulk", {"jobs": [JOB, {**JOB, "biz_type": "ours.only"}]})

    assert answer.status_code == 207
    made, refused = answer.json()["results"]
    assert Job.objects.get().biz_type == theirs
    assert str(Job.objects.get().id) == made["id"]
    assert refused["error"]["errors"][0]["code"] == "unknown"


@pytest.mark.parametrize("query", ["", "?biz_type=order.close", "?biz_id=42", "?status=pending"])
def test_each_lists_its_own_jobs(ask: Ask, ask_as_acme: Ask, theirs: BizType, query: str) -> None:
    mine, other = ask("POST", "/jobs", JOB).json()["id"], ask_as_acme("POST", "/jobs", JOB).json()["id"]

    assert [job["id"] for job in ask("GET", f"/jobs{query}").json()["results"]] == [mine]
    assert [job["id"] for job in ask_as_acme("GET", f"/jobs{query}").json()["results"]] == [other]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/attempts", None),
        ("PATCH", "", {"delay": 5}),
        ("POST", "/cancel", {}),
        ("POST", "/run", {}),
        ("POST", "/redrive", {}),
        ("POST", "/drop", {}),
    ],
)
def test_another_tenants_job_is_not_found_and_stays_as_it_is(
    ask_as_acme: Ask, biz_type: BizType, theirs: BizType, method: str, path: str, body: Any
) -> None:
    job = jobs.create("order.close", biz_id="42", delay=600).job if path != "/drop" else dead_jobs(biz_type, 1)[0]
    before = Job.objects.filter(id=job.id).values().get()

    answer = ask_as_acme(method, f"/jobs/{job.id}{path}", body)

    assert problem(answer, 404)["code"] == "not_found"
    assert Job.objects.filter(id=job.id).values().get() == before


def test_a_business_key_means_the_callers_own_job(ask: Ask, ask_as_acme: Ask, theirs: BizType) -> None:
    mine, other = ask("POST", "/jobs", JOB).json()["id"], ask_as_acme("POST", "/jobs", JOB).json()["id"]

    assert ask("GET", "/biz-types/order.close/jobs/42").json()["id"] == mine
    assert ask_as_acme("POST", "/biz-types/order.close/jobs/42/cancel", {}).json()["id"] == other

    assert ask("GET", f"/jobs/{mine}").json()["status"] == "pending"
    assert problem(ask_as_acme("POST", "/biz-types/order.close/jobs/42/run", {}), 404)


def test_a_biz_type_of_another_tenant_is_not_found(ask: Ask, ask_as_acme: Ask, theirs: BizType, acme: Tenant) -> None:
    BizType.objects.filter(pk=theirs.pk).update(code="parcel.lost")

    assert [one["code"] for one in ask("GET", "/biz-types").json()["results"]] == ["order.close"]
    assert [one["code"] for one in ask_as_acme("GET", "/biz-types").json()["results"]] == ["parcel.lost"]
    assert problem(ask("GET", "/biz-types/parcel.lost"), 404)
    assert problem(ask_as_acme("GET", "/biz-types/order.close"), 404)
    assert problem(ask_as_acme("POST", "/jobs", JOB), 400)["errors"][0]["code"] == "unknown"


@pytest.mark.parametrize("by_biz_type", [{}, {"biz_type": "order.close"}])
def test_an_operation_counts_and_changes_the_callers_jobs_only(
    ask_as_acme: Ask, biz_type: BizType, theirs: BizType, by_biz_type: dict[str, str]
) -> None:
    ours, own = dead_jobs(biz_type, 3), dead_jobs(theirs, 2)

    made = ask_as_acme("POST", "/operations", {"verb": "redrive", "filter": by_biz_type}).json()
    turns().run_once()
    assert ask_as_acme("GET", f"/operations/{made['id']}").json()["planned"] == 2
    ask_as_acme("POST", f"/operations/{made['id']}/start", {})
    worked_off(Operation.objects.get())

    assert set(Job.objects.filter(id__in=[job.id for job in own]).values_list("status", flat=True)) == {Status.PENDING}
    assert set(Job.objects.filter(id__in=[job.id for job in ours]).values_list("status", flat=True)) == {Status.DEAD}


def test_an_operation_passes_over_ids_of_another_tenants_jobs(
    ask_as_acme: Ask, biz_type: BizType, theirs: BizType
) -> None:
    ids = [str(job.id) for job in (*dead_jobs(biz_type, 2), *dead_jobs(theirs, 1))]

    made = ask_as_acme("POST", "/operations", {"verb": "drop", "filter": {"ids": ids}}).json()
    turns().run_once()

    assert ask_as_acme("GET", f"/operations/{made['id']}").json()["planned"] == 1


def test_another_tenants_operation_is_not_found(ask: Ask, ask_as_acme: Ask, theirs: BizType) -> None:
    made = ask("POST", "/operations", {"verb": "redrive", "filter": {}}).json()
    turns().run_once()
    path = f"/operations/{made['id']}"

    answers = [
        ask_as_acme("GET", path),
        ask_as_acme("POST", f"{path}/start", {}),
        ask_as_acme("POST", f"{path}/stop", {}),
        ask_as_acme("POST", f"{path}/pace", {"rate_per_second": 5}),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert ask_as_acme("GET", "/operations").json()["results"] == []
    assert Operation.objects.get().state == "planned"


def test_an_operation_does_not_wait_for_one_of_another_tenant(
    ask: Ask, ask_as_acme: Ask, biz_type: BizType, theirs: BizType
) -> None:
    dead_jobs(biz_type, 100), dead_jobs(theirs, 1)
    first = ask("POST", "/operations", {"verb": "redrive", "filter": {}}).json()["id"]
    second = ask_as_acme("POST", "/operations", {"verb": "redrive", "filter": {}}).json()["id"]
    for planned in (first, second):
        until(Operation.objects.get(pk=planned), lambda now: now.state == Operation.State.PLANNED, given=turns())
    ask("POST", f"/operations/{first}/start", {"rate_per_second": 0.01})
    ask_as_acme("POST", f"/operations/{second}/start", {})

    worked_off(Operation.objects.get(pk=second))

    assert ask_as_acme("GET", f"/operations/{second}").json()["done"] == 1


def test_an_operation_stops_when_its_key_may_no_longer_act_on_the_biz_type(
    ask_as_acme: Ask, theirs: BizType, make_biz_type: MakeBizType
) -> None:
    dead_jobs(theirs, 3)
    made = ask_as_acme("POST", "/operations", {"verb": "redrive", "filter": {}}).json()["id"]
    turns().run_once()
    ask_as_acme("POST", f"/operations/{made}/start", {})

    ApiKey.objects.filter(name="theirs").update(biz_type_ids=[make_biz_type("other", tenant=theirs.tenant).pk])
    turns().run_once()

    stopped = Operation.objects.get()
    assert (stopped.state, stopped.done) == ("stopped", 0)
    assert "may not act on all of these biz types" in stopped.state_reason


def test_a_receiver_calls_off_jobs_of_its_own_business_key_only(
    ask: Ask, ask_as_acme: Ask, biz_type: BizType, theirs: BizType, receiver: Receiver, fire: Fire
) -> None:
    BizType.objects.update(url=receiver.url())
    receiver.answer = answering(200, DelayHub_Action="cancel-others")
    mine = ask("POST", "/jobs", JOB).json()["id"]
    theirs_later = ask_as_acme("POST", "/jobs", JOB).json()["id"]
    ask_as_acme("POST", "/jobs", {**JOB, "delay": 0})

    fire()

    assert ask("GET", f"/jobs/{mine}").json()["status"] == "pending"
    assert ask_as_acme("GET", f"/jobs/{theirs_later}").json()["status"] == "cancelled"
