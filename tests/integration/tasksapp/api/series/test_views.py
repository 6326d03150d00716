"""Series over REST: what ``requests`` describes is taken, and shown as ``representation`` says."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from tasksapp.models import AuditEntry, BizType, Job
from tests.fixture_types import Ask

pytestmark = pytest.mark.django_db(transaction=True)

NEW = {"biz_type": "order.close", "name": "morning", "cron": "0 9 * * 1-5", "time_zone": "Asia/Shanghai"}


def body(answer: Any) -> Any:
    return json.loads(answer.content)


def test_a_series_is_made_read_changed_paused_triggered_and_deleted(ask: Ask, biz_type: BizType) -> None:
    made = ask("POST", "/series", {**NEW, "body": {"a": 1}, "jitter": 60})
    shown = body(made)
    address = f"/series/{shown['id']}"

    assert made.status_code == 201
    assert made["Location"] == f"/api/v1{address}"
    assert shown["words"] == "At 09:00, Monday through Friday (Asia/Shanghai time)"
    assert shown["next_at"].endswith("T01:00:00Z")
    assert (shown["body"], shown["jitter"], shown["made"]) == ({"a": 1}, 60, 1)
    assert body(ask("GET", address)) == shown
    assert [row["id"] for row in body(ask("GET", "/series?biz_type=order.close&paused=false"))["results"]] == [
        shown["id"]
    ]
    assert body(ask("GET", "/series?paused=true"))["results"] == []

    changed = ask("PATCH", address, {"every": 3600}, **{"if-match": made["ETag"]})
    assert (changed.status_code, body(changed)["cron"], body(changed)["every"]) == (200, "", 3600)
    stale = ask("PATCH", address, {"every": 60}, **{"if-match": made["ETag"]})
    assert (stale.status_code, body(stale)["code"]) == (412, "precondition_failed")
    assert body(ask("PATCH", address, {"every": 60, "version": 1}))["code"] == "version_conflict"

    paused = body(ask("POST", f"{address}/pause", {"reason": "holidays"}))
    assert (paused["paused_by"], paused["pause_reason"], paused["next_at"]) == ("api:caller", "holidays", None)
    triggered = ask("POST", f"{address}/trigger", {})
    assert triggered.status_code == 201
    assert Job.objects.get().pk.hex == body(triggered)["job_id"].replace("-", "")
    assert body(ask("POST", f"{address}/resume", {}))["paused_at"] is None
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == 404
    verbs = [row.verb.removeprefix("series.") for row in AuditEntry.objects.order_by("id")]
    assert verbs == ["add", "edit", "pause", "trigger", "resume", "delete"]


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ({"cron": "61 * * * *"}, "cron", "invalid"),
        ({"every": 60}, "every", "one_of"),
        ({"time_zone": "Mars"}, "time_zone", "unknown"),
        ({"biz_type": "nobody"}, "biz_type", "unknown"),
        ({"colour": 1}, "colour", "unknown"),
        ({"overlap": "both"}, "overlap", "invalid"),
        ({"name": None}, "name", "required"),
        ({"times": "tomorrow"}, "times", "invalid"),
    ],
)
def test_a_refusal_names_the_field(ask: Ask, biz_type: BizType, given: dict[str, Any], field: str, code: str) -> None:
    answer = ask("POST", "/series", {**NEW, **given})

    (error,) = body(answer)["errors"]
    assert (answer.status_code, error["field"], error["code"]) == (400, field, code)


def test_a_name_that_is_taken_is_a_conflict(ask: Ask, biz_type: BizType) -> None:
    ask("POST", "/series", NEW)

    answer = ask("POST", "/series", NEW)

    assert (answer.status_code, body(answer)["code"]) == (409, "name_taken")


def test_a_preview_stores_nothing(ask: Ask, biz_type: BizType) -> None:
    answer = body(ask("POST", "/series/preview", {"cron": "0 9 * * *", "time_zone": "Asia/Shanghai", "most": 3}))

    assert answer["words"] == "At 09:00 (Asia/Shanghai time)"
    assert [each[10:] for each in answer["occurrences"]] == ["T01:00:00Z"] * 3
    assert ask("POST", "/series/preview", {"cron": "0 9 * * *", "most": 101}).status_code == 400
    assert ask("POST", "/series/preview", {}).status_code == 400
    utc = body(ask("POST", "/series/preview", {"cron": "0 9 * * *", "time_zone": None}))  # as the document allows
    assert utc["words"].endswith("(UTC time)")
    assert not Job.objects.exists()


def test_a_site_may_take_conditional_changes_only(ask: Ask, biz_type: BizType, settings: Any) -> None:
    address = f"/series/{body(ask('POST', '/series', NEW))['id']}"
    settings.DELAYHUB = {**settings.DELAYHUB, "REST_CHANGES": "conditional"}

    assert ask("PATCH", address, {"priority": 1}).status_code == 428
    assert ask("PATCH", address, {"priority": 1, "version": 1}).status_code == 200
    assert ask("DELETE", address, **{"if-match": "*"}).status_code == 204


def test_jobs_say_which_occurrence_of_which_series_they_are(ask: Ask, biz_type: BizType) -> None:
    row = body(ask("POST", "/series", {**NEW, "flow_key": "tenant 1"}))
    alone = body(ask("POST", "/jobs", {"biz_type": "order.close", "delay": 60}))

    (job,) = body(ask("GET", f"/jobs?series={row['id']}&occurrence_from=2026-01-01T00:00:00Z"))["results"]

    assert (job["series"], job["occurrence_at"], job["flow_key"]) == (row["id"], row["next_at"], "tenant 1")
    assert (alone["series"], alone["occurrence_at"]) == (None, None)
    assert body(ask("GET", f"/jobs?series={row['id'] + 1}"))["results"] == []
    until = row["next_at"].replace("T01:00:00", "T00:59:59")
    assert body(ask("GET", f"/jobs?series={row['id']}&occurrence_until={until}"))["results"] == []


def test_a_backfill_is_planned_as_an_operation(ask: Ask, biz_type: BizType) -> None:
    address = f"/series/{body(ask('POST', '/series', NEW))['id']}/backfill"

    answer = ask("POST", address, {"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z", "reason": "new"})
    shown = body(answer)

    assert answer.status_code == 201
    assert answer["Location"] == f"/api/v1/operations/{shown['id']}"
    assert (shown["verb"], shown["state"], shown["reason"]) == ("backfill", "planning", "new")
    assert shown["filter"]["occurrence_until"].startswith("2026-02-01T00:00:00")
    again = ask("POST", "/operations", {"verb": "backfill", "filter": shown["filter"]})
    assert (again.status_code, body(again)["filter"]) == (201, shown["filter"])


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ({}, "since", "required"),
        ({"since": "yesterday"}, "since", "invalid"),
        ({"since": "2026-01-01T00:00:00Z", "until": "2126-01-01T00:00:00Z"}, "until", "future"),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "until", "too_early"),
        ({"since": "2026-01-02T00:00:00Z", "reason": 5}, "reason", "invalid"),
        ({"since": "2026-01-02T00:00:00Z", "colour": 5}, "colour", "unknown"),
    ],
)
def test_a_backfill_that_cannot_be_is_refused(
    ask: Ask, biz_type: BizType, given: dict[str, Any], field: str, code: str
) -> None:
    answer = ask("POST", f"/series/{body(ask('POST', '/series', NEW))['id']}/backfill", given)

    (error,) = body(answer)["errors"]
    assert (answer.status_code, error["field"], error["code"]) == (400, field, code)


def test_its_own_request_is_shown_without_secrets_and_kept_by_other_changes(ask: Ask, biz_type: BizType) -> None:
    own = {"timeout_seconds": 3, "headers": {"Authorization": "Bearer mine"}}
    hidden = {"timeout_seconds": 3, "headers": {"Authorization": "(hidden)"}}

    made = body(ask("POST", "/series", {**NEW, "request": own}))
    changed = body(ask("PATCH", f"/series/{made['id']}", {"priority": 1}))
    refused = ask("PATCH", f"/series/{made['id']}", {"request": {"url": "https://other.example/"}})

    assert (made["request"], changed["request"]) == (hidden, hidden)
    assert (refused.status_code, body(refused)["errors"][0]["field"]) == (400, "request")
    assert body(ask("PATCH", f"/series/{made['id']}", {"request": None}))["request"] is None


def test_exact_bytes_are_taken_and_shown_as_a_text_or_in_base64(ask: Ask, biz_type: BizType) -> None:
    made = body(ask("POST", "/series", {**NEW, "body_text": "<a/>", "content_type": "application/xml"}))
    address = f"/series/{made['id']}"
    shown = ("body", "body_text", "body_base64", "content_type")
    assert [made[name] for name in shown] == [None, "<a/>", None, "application/xml"]
    assert [bytes(job.raw or b"") for job in Job.objects.all()] == [b"<a/>"]

    changed = body(ask("PATCH", address, {"body_base64": "AP8="}))
    assert [changed[name] for name in shown] == [None, None, "AP8=", "application/octet-stream"]
    both = ask("PATCH", address, {"body_base64": "AP8=", "body": 1})
    assert (both.status_code, body(both)["errors"][0]["field"]) == (400, "body_base64")

    again = body(ask("PATCH", address, {"body": {"a": 1}}))
    assert [again[name] for name in shown] == [{"a": 1}, None, None, None]


def test_the_last_one_of_a_count_is_shown_until_its_time(ask: Ask, biz_type: BizType) -> None:
    shown = body(ask("POST", "/series", {**NEW, "count": 1}))

    assert shown["next_at"] is not None
    assert Job.objects.get().occurrence_at == datetime.fromisoformat(shown["next_at"])
