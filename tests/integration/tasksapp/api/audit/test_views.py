"""The audit over REST: paged, filtered, and only what the key may see."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.models import ApiKey, BizType, Tenant
from tests.fixture_types import Ask, MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

JOB = UUID("01a1fcb9-e182-7773-bac4-bf777e5e56f2")


def deed(verb: str, *, biz_type: BizType | None = None, **values: object) -> None:
    entry = audit.entry(
        verb, by=Actor("ada", "192.0.2.7"), biz_type_id=None if biz_type is None else biz_type.pk, **values
    )  # type: ignore[arg-type]  # tests name them
    audit.record([entry], using="default")


def test_entries_come_in_pages_the_newest_first(ask_fully: Ask, biz_type: BizType) -> None:
    for verb in ("cancel", "drop", "redrive"):
        deed(verb, biz_type=biz_type, job_id=JOB, what="order-42", reason="by phone")

    first = ask_fully("GET", "/audit?limit=2").json()
    second = ask_fully("GET", first["next"].partition("/api/v1")[2]).json()

    assert [each["verb"] for each in first["results"]] == ["redrive", "drop"]
    assert ([each["verb"] for each in second["results"]], second["next"]) == (["cancel"], None)
    entry = second["results"][0]
    assert (entry["actor"], entry["address"], entry["biz_type"]) == ("ada", "192.0.2.7", "order.close")
    assert (entry["job_id"], entry["what"], entry["reason"]) == (str(JOB), "order-42", "by phone")


@pytest.mark.parametrize(
    ("query", "verbs"),
    [
        ("actor=ada", ["drop", "cancel"]),
        ("actor=bob", []),
        ("verb=drop", ["drop"]),
        ("biz_type=order.close", ["cancel"]),
        (f"job_id={JOB}", ["cancel"]),
        ("operation_id=7", ["drop"]),
        ("since=2030-01-01T00:00:00Z", []),
        ("since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00%2B01:00", ["drop", "cancel"]),
    ],
)
def test_filters_narrow_it(ask_fully: Ask, biz_type: BizType, query: str, verbs: list[str]) -> None:
    deed("cancel", biz_type=biz_type, job_id=JOB, at=timezone.now() - timedelta(hours=1))
    deed("drop", operation_id=7)

    assert [each["verb"] for each in ask_fully("GET", f"/audit?{query}").json()["results"]] == verbs


def test_other_tenants_and_other_biz_types_are_not_seen(
    ask_fully: Ask, biz_type: BizType, make_biz_type: MakeBizType
) -> None:
    deed("key.issue")
    alone = ask_fully("GET", "/audit").json()["results"]
    deed("drop", biz_type=make_biz_type("foreign", tenant=Tenant.objects.create(code="other")))
    deed("cancel", biz_type=biz_type)
    deed("redrive", biz_type=make_biz_type("second"))
    of_tenant = ask_fully("GET", "/audit").json()["results"]
    ApiKey.objects.update(biz_type_ids=[biz_type.pk])
    of_key = ask_fully("GET", "/audit").json()["results"]

    assert [each["verb"] for each in alone] == ["key.issue"]
    assert [each["verb"] for each in of_tenant] == ["redrive", "cancel"]
    assert [each["verb"] for each in of_key] == ["cancel"]


def test_values_that_the_key_may_not_see_elsewhere_are_not_in_entries(ask: Ask, key: str, biz_type: BizType) -> None:
    after = {"url": "https://hush.example/", "body": '{"card": 4711}'}
    deed("edit", biz_type=biz_type, before={"url": "", "body": ""}, after=after)
    ApiKey.objects.update(scopes=["stats"])

    hidden = ask("GET", "/audit")
    ApiKey.objects.update(scopes=["stats", "jobs:read", "biz-types:write"])
    shown = ask("GET", "/audit").json()["results"][0]["after"]

    assert b"hush" not in hidden.content
    assert b"4711" not in hidden.content
    assert hidden.json()["results"][0]["after"] == {"url": "changed", "body": {"bytes": 14}}
    assert (shown["url"], shown["body"]["text"]) == ("https://hush.example/", '{"card": 4711}')
