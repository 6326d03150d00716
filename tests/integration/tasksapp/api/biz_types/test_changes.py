"""Biz types made, changed, deleted, paused and resumed over REST; and which of them biz_type_access finds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import series
from tasksapp.models import ApiKey, AuditEntry, BizType, Job, Tenant
from tasksapp.timers import lanes
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/biz-types/order.close"


def test_a_new_one_has_defaults_and_shows_its_signing_secret_once(ask_fully: Ask) -> None:
    made = ask_fully("POST", "/biz-types", {"code": "order.close", "url": "https://shop.example/hooks"})

    assert made.status_code == 201
    assert made["Location"].endswith(PATH)
    shown = made.json()
    assert shown["signing_secret"] == BizType.objects.get().signing_secret
    assert (shown["max_attempts"], shown["retention_seconds"], shown["signed"]) == (16, 2_592_000, True)
    again = ask_fully("GET", PATH)
    assert again.json() == {
        **{name: value for name, value in shown.items() if name != "signing_secret"},
        "in_force": None,
    }
    assert again["ETag"] == made["ETag"]
    deeds = AuditEntry.objects.order_by("id").values_list("verb", "actor")
    assert list(deeds) == [("biz_type.add", "api:caller"), ("biz_type.new_signing_secret", "api:caller")]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "https://shop.example/"}, "code"),
        ({"code": "Order Close", "url": "https://shop.example/"}, "code"),
        ({"code": "a"}, "url"),
        ({"code": "a", "url": "http://169.254.169.254/"}, "url"),
        ({"code": "a", "target": "celery"}, "task_name"),
        ({"code": "a", "target": "celery", "task_name": "tasksapp.deliver"}, "task_name"),
        ({"code": "a", "target": "celery", "task_name": "shop.tasks.not_allowed"}, "task_name"),
        ({"code": "a", "url": "https://shop.example/", "declared": {"task": "a"}}, "declared"),
        ({"code": "a", "url": "https://shop.example/", "max_attempts": "5"}, "max_attempts"),
        ({"code": "a", "url": "https://shop.example/", "max_attempts": 0}, "max_attempts"),
        ({"code": "a", "url": "https://shop.example/", "max_attempts": 2**40}, "max_attempts"),
        ({"code": "a", "url": "https://shop.example/", "timeout_seconds": 10**400}, "timeout_seconds"),
        ({"code": "a", "url": "https://shop.example/", "retention_seconds": 1e300}, "retention_seconds"),
        ({"code": "a", "url": "https://shop.example/", "enabled": None}, "enabled"),
        ({"code": "a", "url": "https://shop.example/", "headers": {"Authorization": "x"}}, "headers"),
        ({"code": "a", "url": "https://shop.example/", "lane": "nowhere"}, "lane"),
        ({"code": "a", "url": "https://shop.example/", "name": "a\0b"}, "name"),
        ({"code": "a", "url": "https://shop.example/", "auth": "basic"}, "auth_secret"),
        ({"code": "a", "url": "https://shop.example/", "auth": "bearer", "auth_secret": "two words"}, "auth_secret"),
        ({"code": "a", "url": "https://shop.example/", "colour": "red"}, "colour"),
        ({"code": "a", "url": "https://shop.example/", "signing_secret_sealed": "x"}, "signing_secret_sealed"),
        ({"code": "a", "url": "https://shop.example/", "tenant": 2}, "tenant"),
    ],
)
def test_what_the_form_of_the_admin_refuses_is_refused(ask_fully: Ask, fields: dict[str, Any], field: str) -> None:
    refused = problem(ask_fully("POST", "/biz-types", fields), 400)

    assert [error["field"] for error in refused["errors"]] == [field]
    assert not BizType.objects.exists()


def test_every_fault_is_named_at_once(ask_fully: Ask) -> None:
    refused = problem(ask_fully("POST", "/biz-types", {"code": "a", "weight": 0, "jitter": 2, "priority": 10}), 400)

    assert {error["field"] for error in refused["errors"]} == {"weight", "jitter", "priority"}


def test_a_code_is_taken_once(ask_fully: Ask, biz_type: BizType) -> None:
    refused = problem(ask_fully("POST", "/biz-types", {"code": "order.close", "url": "https://shop.example/"}), 409)

    assert refused["type"].endswith("code_taken")


def test_a_change_touches_what_it_names_and_takes_the_etag_of_what_was_read(ask_fully: Ask, biz_type: BizType) -> None:
    etag = ask_fully("GET", PATH)["ETag"]

    problem(ask_fully("PATCH", PATH, {"max_attempts": 3}), 428)
    changed = ask_fully("PATCH", PATH, {"max_attempts": 3, "max_age_seconds": 90}, **{"if-match": etag})
    stale = problem(ask_fully("PATCH", PATH, {"weight": 9}, **{"if-match": etag}), 412)

    assert stale["type"].endswith("precondition_failed")
    assert (changed.json()["max_attempts"], changed.json()["max_age_seconds"]) == (3, 90)
    biz_type.refresh_from_db()
    assert (biz_type.max_attempts, biz_type.max_age, biz_type.weight) == (3, timedelta(seconds=90), 1)
    assert AuditEntry.objects.get().after == {"max_age": 90.0, "max_attempts": 3}
    assert ask_fully("PATCH", PATH, {"weight": 9}, **{"if-match": changed["ETag"]}).status_code == 200


def test_a_change_of_nothing_leaves_no_entry_and_the_same_etag(ask_fully: Ask, biz_type: BizType) -> None:
    etag = ask_fully("GET", PATH)["ETag"]

    unchanged = ask_fully("PATCH", PATH, {"max_attempts": 16, "code": "order.close"}, **{"if-match": etag})

    assert (unchanged.status_code, unchanged["ETag"]) == (200, etag)
    assert not AuditEntry.objects.exists()


def test_an_answer_says_whether_the_change_is_in_force(
    ask_fully: Ask, biz_type: BizType, settings: Any, lane: TimerLane
) -> None:
    there = settings.DELAYHUB
    anyway = {"if-match": "*"}

    lowered = ask_fully("PATCH", PATH, {"max_in_flight": 2}, **anyway).json()
    settings.DELAYHUB = {**there, "REDIS_URL": "redis://127.0.0.1:1/0"}
    away = ask_fully("PATCH", PATH, {"max_in_flight": 1}, **anyway).json()
    settings.DELAYHUB = there
    lanes.try_again()
    paused = ask_fully("POST", f"{PATH}/pause", {"reason": "stocktaking"}).json()

    assert (lowered["in_force"], away["in_force"], paused["in_force"]) == (True, False, True)
    assert ask_fully("GET", PATH).json()["in_force"] is None
    assert lane.client.hget(lane.keys.queue(biz_type.queue).gate, "max_in_flight") == b"1"


def test_another_code_renames_it_unless_it_is_taken(
    ask_fully: Ask, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    make_biz_type("taken")

    refused = problem(ask_fully("PATCH", PATH, {"code": "taken"}, **{"if-match": "*"}), 409)
    renamed = ask_fully("PATCH", PATH, {"code": "order.expire"}, **{"if-match": "*"})

    assert refused["code"] == "code_taken"
    assert renamed.json()["code"] == "order.expire"
    assert ask_fully("GET", "/biz-types/order.expire")["ETag"] == renamed["ETag"]
    problem(ask_fully("GET", PATH), 404)


def test_stored_credentials_are_not_sent_to_another_host(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    stored = make_biz_type("order.close", auth="bearer", auth_secret="a-token")
    elsewhere = {"url": "https://other.example/"}

    refused = problem(ask_fully("PATCH", PATH, elsewhere, **{"if-match": "*"}), 400)
    taken = ask_fully("PATCH", PATH, {**elsewhere, "auth_secret": "new-token"}, **{"if-match": "*"})

    assert [error["field"] for error in refused["errors"]] == ["auth_secret"]
    assert taken.json()["has_credentials"]
    assert b"new-token" not in taken.content
    stored.refresh_from_db()
    assert stored.auth_secret == "new-token"
    assert "token" not in str(AuditEntry.objects.get().after)


def test_only_one_without_jobs_is_deleted(ask_fully: Ask, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    ask_fully("POST", "/jobs", {"biz_type": "order.close", "delay": 60})
    make_biz_type("unused")

    assert problem(ask_fully("DELETE", PATH), 409)["type"].endswith("has_jobs")
    gone = ask_fully("DELETE", "/biz-types/unused")

    assert (gone.status_code, gone.content) == (204, b"")
    problem(ask_fully("DELETE", "/biz-types/unused"), 404)
    assert Job.objects.count() == 1


def test_one_with_a_series_is_not_deleted_and_that_is_said(ask_fully: Ask, biz_type: BizType) -> None:
    series.pause(series.create("order.close", name="nightly", cron="0 2 * * *").pk)

    refused = problem(ask_fully("DELETE", PATH), 409)

    assert refused["type"].endswith("has_jobs")
    assert "has jobs or series" in refused["detail"]


def test_a_pause_says_who_and_why_and_ends_at_a_resume(ask_fully: Ask, biz_type: BizType) -> None:
    until = timezone.now() + timedelta(hours=1)

    paused = ask_fully("POST", f"{PATH}/pause", {"reason": "db move", "until": until.isoformat()}).json()
    resumed = ask_fully("POST", f"{PATH}/resume", {"reason": "moved"}).json()
    again = ask_fully("POST", f"{PATH}/resume")

    assert (paused["paused_by"], paused["pause_reason"]) == ("api:caller", "db move")
    assert paused["paused_until"] == until.isoformat().replace("+00:00", "Z")
    assert resumed["paused_until"] is None
    assert again.status_code == 200
    entries = AuditEntry.objects.order_by("id").values_list("verb", "reason")
    assert list(entries) == [("biz_type.pause", "db move"), ("biz_type.resume", "moved")]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "reason"),
        ({"reason": "  "}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": "x", "until": "2020-01-01T00:00:00Z"}, "until"),
        ({"reason": "x", "until": "2030-01-01T00:00:00"}, "until"),
        ({"reason": "x", "until": 5}, "until"),
        ({"reason": "x", "colour": "red"}, "colour"),
    ],
)
def test_a_pause_needs_a_reason_and_an_end_to_come(
    ask_fully: Ask, biz_type: BizType, fields: dict[str, Any], field: str
) -> None:
    refused = problem(ask_fully("POST", f"{PATH}/pause", fields), 400)

    assert [error["field"] for error in refused["errors"]] == [field]


def test_where_jobs_go_is_shown_to_those_who_may_change_it(ask: Ask, key: str, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", headers={"X-Api": "hush"}, owner_url="https://chat.example/hush")

    read_only = ask("GET", PATH)
    ApiKey.objects.update(scopes=["biz-types:read", "biz-types:write"])
    writing = ask("GET", "/biz-types").json()["results"][0]

    assert b"hush" not in read_only.content
    assert read_only.json()["url"] is None
    assert (writing["headers"], writing["url"]) == ({"X-Api": "hush"}, "https://shop.example/hooks")


def test_a_key_for_certain_biz_types_adds_none(ask_fully: Ask, biz_type: BizType) -> None:
    ApiKey.objects.update(biz_type_ids=[biz_type.pk])

    refused = ask_fully("POST", "/biz-types", {"code": "a", "url": "https://shop.example/"})

    assert problem(refused, 403)["type"].endswith("not_for_this_key")


def test_a_key_for_certain_biz_types_lets_no_jobs_of_others_follow(
    ask_fully: Ask, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    mine, _ = make_biz_type("mine"), make_biz_type("other")
    ApiKey.objects.update(biz_type_ids=[biz_type.pk, mine.pk])

    for name in ("on_success", "on_dead", "on_resolved"):
        refused = problem(ask_fully("PATCH", PATH, {name: " other"}, **{"if-match": "*"}), 400)
        assert [error["field"] for error in refused["errors"]] == [name]
    assert ask_fully("PATCH", PATH, {"on_success": "mine"}, **{"if-match": "*"}).status_code == 200
    BizType.objects.filter(pk=biz_type.pk).update(on_success="other")
    assert ask_fully("PATCH", PATH, {"on_success": "other", "weight": 2}, **{"if-match": "*"}).status_code == 200


def test_another_tenants_biz_type_is_not_there(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", tenant=Tenant.objects.create(code="other"))
    requests: list[tuple[str, str, Any]] = [
        ("GET", PATH, None),
        ("PATCH", PATH, {"weight": 2}),
        ("DELETE", PATH, None),
        ("POST", f"{PATH}/pause", {"reason": "x"}),
        ("POST", f"{PATH}/resume", {}),
        ("POST", f"{PATH}/rotate", {}),
        ("POST", f"{PATH}/test", {}),
        ("PUT", f"{PATH}/credentials", {"auth": "none"}),
    ]

    for method, path, body in requests:
        problem(ask_fully(method, path, body, **{"if-match": "*"}), 404)
    assert ask_fully("GET", "/biz-types").json()["results"] == []


def test_a_change_to_a_task_that_the_project_does_not_allow_is_refused(
    ask_fully: Ask, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.close", target="celery", task_name="shop.tasks.old")
    anyway = {"if-match": "*"}

    for given in ({"task_name": "celery.map"}, {"task_name": "shop.other"}, {"task_queue": "delayhub.timers"}):
        refused = problem(ask_fully("PATCH", PATH, given, **anyway), 400)
        assert [error["field"] for error in refused["errors"]] == list(given)
    assert ask_fully("PATCH", PATH, {"weight": 2}, **anyway).status_code == 200

    row = BizType.objects.get()
    assert (row.task_name, row.task_queue, row.weight) == ("shop.tasks.old", "", 2)
