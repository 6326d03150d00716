"""What the API shows of bodies with masked fields, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test import Client

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.models import BizType, Job, Series
from tasksapp.series import verbs as series
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, echo
from tests.planted_secrets import columns_with, marker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
ADA = Actor("ada", "192.0.2.7")
_SHOWN = re.compile(r"\[masked [0-9a-f]{12}\]")


@pytest.fixture
def card() -> str:
    return marker("card")


@pytest.mark.parametrize("end", ["fail", "release", "done"])
def test_what_a_puller_says_is_masked_and_what_it_gets_is_not(
    ask_fully: Ask, report: BizType, card: str, end: str
) -> None:
    BizType.objects.update(masked_fields=["/card"])
    jobs.create("report", body={"card": card})
    (claim,) = ask_fully("POST", "/claims", {"biz_types": ["report"]}).json()["claims"]
    said = {"note": f"tried {card}"} if end == "done" else {"reason": f"no such {card}"}

    answer = ask_fully("POST", f"/claims/{claim['token']}/{end}", {**said})

    assert claim["body"] == {"card": card}
    assert answer.status_code == 200, answer.content
    assert card not in answer.content.decode()
    assert columns_with(card) == {"Job.body"}


def test_no_answer_of_the_api_has_the_value_and_no_mask_is_written_back(
    ask_fully: Ask, make_biz_type: MakeBizType, card: str
) -> None:
    make_biz_type("order.close", masked_fields=["/card", "/pin"])
    new = {"biz_type": "order.close", "delay": 60, "body": {"card": card, "pin": 7, "order": 42}}
    made = ask_fully("POST", "/jobs", {**new, "idempotency_key": "1"}).json()
    again = ask_fully("POST", "/jobs", {**new, "idempotency_key": "1"}).json()
    path = f"/jobs/{made['id']}"

    read = ask_fully("GET", path).json()
    (listed,) = ask_fully("GET", "/jobs").json()["results"]
    ask_fully("POST", "/jobs/bulk", {"jobs": [{**new, "biz_id": "p"}], "together": True})
    refused = ask_fully("PATCH", path, {"body": {**read["body"], "order": 43}})
    copied = ask_fully("POST", "/jobs", {**new, "body": read["body"]})
    changed = ask_fully("PATCH", path, {"body": {"card": card + "2", "pin": 8, "order": 43}})

    assert made["body"] == again["body"] == read["body"] == listed["body"]
    assert _SHOWN.fullmatch(read["body"]["card"])
    assert (read["body"]["pin"], read["body"]["order"]) == ("[masked]", 42)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "masked")
    assert copied.status_code == 400
    assert changed.json()["body"] == {**changed.json()["body"], "pin": "[masked]", "order": 43}
    assert card not in changed.content.decode()
    assert json.loads(Job.objects.get(id=made["id"]).body) == {"card": card + "2", "pin": 8, "order": 43}
    # another time keeps the value
    assert ask_fully("PATCH", path, {"priority": 1}).status_code == 200
    assert json.loads(Job.objects.get(id=made["id"]).body)["card"] == card + "2"


def test_bodies_with_masked_fields_are_not_searched(
    ask_fully: Ask, admin_client: Client, make_biz_type: MakeBizType, card: str
) -> None:
    make_biz_type("order.close", masked_fields=["/card"])
    make_biz_type("order.open")
    jobs.create("order.close", delay=60, body={"card": card})

    answer = ask_fully("GET", f"/jobs?biz_type=order.close&status=pending&body={card}")
    page = admin_client.get(f"/admin/tasksapp/job/?biz_type=order.close&tab=pending&q=body:{card}")

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "masked")
    assert "it has masked fields" in answer.json()["errors"][0]["message"]
    assert "it has masked fields" in page.content.decode()
    assert ask_fully("GET", "/jobs?biz_type=order.open&status=pending&body=x").status_code == 200


def test_exact_bytes_are_masked_as_a_whole(make_biz_type: MakeBizType, ask_fully: Ask, card: str) -> None:
    biz_type = make_biz_type("order.close")
    job_id = jobs.create("order.close", delay=60, raw=card.encode()).job_id
    biz_type.masked_fields = ["/card"]
    biz_type.save()

    shown = ask_fully("GET", f"/jobs/{job_id}")

    assert shown.json()["body"] == "[masked]"
    assert card not in shown.content.decode()


def test_a_series_is_shown_with_masks_and_its_jobs_have_the_value(
    admin_client: Client, ask_fully: Ask, make_biz_type: MakeBizType, card: str
) -> None:
    make_biz_type("order.close", masked_fields=["/card"])
    row = series.create("order.close", name="daily", cron="0 9 * * *", body={"card": card}, by=ADA)
    read = ask_fully("GET", f"/series/{row.pk}")
    address = f"/admin/tasksapp/series/{row.pk}/edit/"
    page = admin_client.get(address)
    form = page.context["form"]
    given = {field.name: field.value() for field in form if field.value() is not None}

    saved = admin_client.post(address, {**given, "name": "every day"})
    refused = ask_fully("PATCH", f"/series/{row.pk}", {"body": read.json()["body"]})

    assert _SHOWN.fullmatch(read.json()["body"]["card"])
    assert card not in page.content.decode()
    assert saved.status_code == 302, saved.context["form"].errors
    assert (Series.objects.get().name, json.loads(Series.objects.get().body)) == ("every day", {"card": card})
    assert refused.status_code == 400
    assert {json.loads(body)["card"] for body in Job.objects.values_list("body", flat=True)} == {card}
    assert columns_with(card) == {"Job.body", "Series.body"}
    assert card not in admin_client.get(f"/admin/tasksapp/series/{row.pk}/change/").content.decode()


def test_a_test_call_is_shown_with_masks(ask_fully: Ask, make_biz_type: MakeBizType, card: str) -> None:
    with Receiver(answer=echo) as receiver:
        make_biz_type("order.close", url=receiver.url(), masked_fields=["/card"])
        answer = ask_fully("POST", "/biz-types/order.close/test", {"body": {"card": card}})

    assert card.encode() in receiver.received[0].body
    assert _SHOWN.search(answer.json()["response"]["body"])
    assert card not in answer.content.decode()


def test_jobs_without_masked_fields_cost_no_statement_more(make_biz_type: MakeBizType, ask_fully: Ask) -> None:
    with Receiver() as receiver:
        make_biz_type("order.close", url=receiver.url())
        make_biz_type("card.close", url=receiver.url(), masked_fields=["/card"])
        counted = {}
        for code in ("order.close", "card.close"):
            job_id = jobs.create(code, delay=60, body={"card": marker("card")}).job_id
            ask_fully("GET", f"/jobs/{job_id}")
            connection.force_debug_cursor, before = True, len(connection.queries_log)
            ask_fully("GET", f"/jobs/{job_id}")
            jobs.create(code, delay=60, body={"card": marker("card")})
            counted[code] = len(connection.queries_log) - before
            connection.force_debug_cursor = False

    assert counted["order.close"] == counted["card.close"]
