"""Operations over REST: what operation_requests lets pass, and what the answers have."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.authentication import BaseAuthentication

from tasksapp.access.callers import Caller
from tasksapp.api.operations.views import OperationSerializer
from tasksapp.models import ApiKey, AuditEntry, BizType, Job, Operation, Status
from tasksapp.models.api_key import Scope
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem
from tests.integration.tasksapp.operation_runs import dead_jobs, turns, worked_off

pytestmark = pytest.mark.django_db(transaction=True)


def plan(ask: Ask, **fields: Any) -> dict[str, Any]:
    body = {"verb": "redrive", "filter": {"biz_type": "order.close", "status": "dead"}, **fields}
    response = ask("POST", "/operations", body)
    assert response.status_code == 201
    answer: dict[str, Any] = response.json()
    return answer


def test_an_operation_is_planned_started_and_read(ask: Ask, biz_type: BizType) -> None:
    dead_jobs(biz_type, 3)

    made = plan(ask, reason="the receiver was down")
    turns().run_once()
    counted = ask("GET", f"/operations/{made['id']}").json()
    started = ask("POST", f"/operations/{made['id']}/start", {"rate_per_second": 5}).json()
    worked_off(Operation.objects.get())
    done = ask("GET", f"/operations/{made['id']}").json()

    assert set(made) == set(OperationSerializer().fields)
    assert [answer["state"] for answer in (made, counted, started, done)] == ["planning", "planned", "running", "done"]
    assert (counted["planned"], counted["sentence"]) == (3, "3 jobs match. Nothing is changed before the start.")
    assert (done["done"], done["left"], done["started_by"]) == (3, 0, "api:caller")
    assert set(Job.objects.values_list("status", flat=True)) == {"pending"}


class ByShop(BaseAuthentication):
    """A project's own: it knows its callers by other means than keys."""

    key_id: int | None = None

    def authenticate(self, request: Any) -> tuple[Caller, None]:
        return Caller("checkout", self.key_id, scopes=frozenset({Scope.JOBS_ACT, Scope.JOBS_READ})), None


@pytest.mark.parametrize("key_id", [None, 0])  # 0 was in our docs once
def test_a_caller_without_a_key_of_ours_works_operations_off_too(
    ask: Ask, biz_type: BizType, settings: Any, monkeypatch: pytest.MonkeyPatch, key_id: int | None
) -> None:
    monkeypatch.setattr(ByShop, "key_id", key_id)
    settings.DELAYHUB = {**settings.DELAYHUB, "API_AUTHENTICATION": [f"{__name__}.ByShop"]}
    dead_jobs(biz_type, 3)

    made = plan(ask)
    turns().run_once()
    ask("POST", f"/operations/{made['id']}/start", {})
    worked_off(Operation.objects.get())

    done = ask("GET", f"/operations/{made['id']}").json()
    assert (done["state"], done["done"], done["started_by"]) == ("done", 3, "api:checkout")


def test_its_address_is_in_the_answer(ask: Ask, biz_type: BizType) -> None:
    response = ask("POST", "/operations", {"verb": "drop", "filter": {}})

    assert response["Location"] == f"/api/v1/operations/{response.json()['id']}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filter": {}}, "verb"),
        ({"verb": "redrive"}, "filter"),
        ({"verb": "explode", "filter": {}}, "verb"),
        ({"verb": "redrive", "filter": []}, "filter"),
        ({"verb": "redrive", "filter": {"colour": "red"}}, "colour"),
        ({"verb": "redrive", "filter": {"status": "pending"}}, "status"),
        ({"verb": "redrive", "filter": {"status": ""}}, "status"),
        ({"verb": "redrive", "filter": {"operation": "7"}}, "operation"),
        ({"verb": "redrive", "filter": {"ids": "7"}}, "ids"),
        ({"verb": "redrive", "filter": {"ended_from": "yesterday"}}, "ended_from"),
        ({"verb": "redrive", "filter": {"biz_type": "unknown"}}, "biz_type"),
        ({"verb": "reschedule", "filter": {}}, "due_at"),
        ({"verb": "redrive", "filter": {}, "rate": 5}, "rate"),
        ({"verb": "redrive", "filter": {}, "reason": None}, "reason"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_the_field(
    ask: Ask, biz_type: BizType, body: dict[str, Any], field: str
) -> None:
    response = ask("POST", "/operations", body)

    assert problem(response, 400)["errors"][0]["field"] == field
    assert not Operation.objects.exists()


def test_a_list_of_statuses_is_refused_with_what_to_give_instead(ask: Ask, biz_type: BizType) -> None:
    response = ask("POST", "/operations", {"verb": "redrive", "filter": {"status": ["dead"]}})

    assert problem(response, 400)["detail"].startswith("give one status or leave it out")


def test_what_its_state_does_not_allow_is_a_conflict(ask: Ask, biz_type: BizType) -> None:
    made = plan(ask)

    early = ask("POST", f"/operations/{made['id']}/start")
    stopped = ask("POST", f"/operations/{made['id']}/stop", {"reason": "wrong filter"})
    late = ask("POST", f"/operations/{made['id']}/pace", {"rate_per_second": 1})

    assert problem(early, 409)["state"] == "planning"
    assert stopped.json()["state_reason"] == "stopped by api:caller: wrong filter"
    assert problem(late, 409)["state"] == "stopped"


def test_the_rest_of_a_stopped_one_is_planned_once(ask: Ask, biz_type: BizType) -> None:
    first = dead_jobs(biz_type, 3)[0]
    made = plan(ask, reason="the receiver was down")
    turns().run_once()
    ask("POST", f"/operations/{made['id']}/start", {})
    Job.objects.filter(pk=first.pk).update(status="pending", finished_at=None)  # what it had changed before the stop
    Operation.objects.update(done=1)
    running = ask("POST", f"/operations/{made['id']}/rest")
    ask("POST", f"/operations/{made['id']}/stop")

    rest = ask("POST", f"/operations/{made['id']}/rest", {})
    again = ask("POST", f"/operations/{made['id']}/rest", {"reason": "asked twice"})
    turns().run_once()
    ask("POST", f"/operations/{rest.json()['id']}/start", {})
    worked_off(Operation.objects.get(pk=rest.json()["id"]))
    third = ask("POST", f"/operations/{made['id']}/rest")

    assert problem(running, 409)["state"] == "running"
    assert (rest.status_code, rest["Location"]) == (201, f"/api/v1/operations/{rest.json()['id']}")
    assert rest.json()["reason"] == "the receiver was down"
    assert (again.status_code, again.json()["id"]) == (200, rest.json()["id"])
    done = ask("GET", f"/operations/{rest.json()['id']}").json()
    assert (done["state"], done["planned"], done["done"]) == ("done", 2, 2)
    assert (third.status_code, third.json()["id"] > done["id"]) == (201, True)
    planned = AuditEntry.objects.filter(verb="operation.plan").order_by("id").values_list("operation_id", flat=True)
    assert list(planned) == [made["id"], done["id"], third.json()["id"]]


def test_one_that_is_not_there_is_not_found(ask: Ask, db: None) -> None:
    for method, path in [("GET", ""), ("POST", "/start"), ("POST", "/stop")]:
        assert ask(method, f"/operations/17{path}").status_code == 404
    assert ask("POST", "/operations/17/pace", {"rate_per_second": 1}).status_code == 404
    assert ask("GET", f"/operations/{'9' * 30}").status_code == 404


def test_to_drop_many_jobs_takes_their_number(ask: Ask, biz_type: BizType) -> None:
    made = plan(ask, verb="drop")
    Operation.objects.update(state="planned", planned=1_001)

    without = ask("POST", f"/operations/{made['id']}/start", {})
    with_number = ask("POST", f"/operations/{made['id']}/start", {"typed_count": 1_001})

    assert problem(without, 400)["errors"][0]["field"] == "typed_count"
    assert with_number.status_code == 200


def test_the_list_has_those_of_other_keys_too_the_newest_first(ask: Ask, biz_type: BizType) -> None:
    mine = plan(ask)
    other = Operation.objects.create(verb="drop", job_filter={}, state="done", started_by="api:other")

    page = ask("GET", "/operations?limit=1").json()
    rest = ask("GET", page["next"].partition("/api/v1")[2]).json()
    filtered = ask("GET", "/operations?state=planning&verb=redrive&biz_type=order.close").json()

    assert [one["id"] for one in page["results"]] == [other.pk]
    assert [one["id"] for one in rest["results"]] == [mine["id"]] == [one["id"] for one in filtered["results"]]
    assert rest["next"] is None
    several = ask("GET", "/operations?state=done&state=planning").json()
    assert [one["id"] for one in several["results"]] == [other.pk, mine["id"]]
    assert ask("GET", "/operations?cursor=x").status_code == 400
    assert ask("GET", "/operations?state=odd").status_code == 400
    assert ask("GET", "/operations?verb=").status_code == 400


def test_an_operation_ends_when_its_key_is_disabled(ask: Ask, biz_type: BizType) -> None:
    dead_jobs(biz_type, 5)
    made = plan(ask)
    turns().run_once()
    ask("POST", f"/operations/{made['id']}/start", {})

    ApiKey.objects.update(enabled=False)
    turns().run_once()

    operation = Operation.objects.get()
    assert (operation.state, operation.state_reason) == ("stopped", "the API key api:caller is disabled")
    assert not Job.objects.exclude(status=Status.DEAD).exists()


def test_the_record_has_the_key_and_the_address(ask: Ask, biz_type: BizType) -> None:
    plan(ask)

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.address, entry.verb) == ("api:caller", "127.0.0.1", "operation.plan")
