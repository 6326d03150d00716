"""The list of jobs in the admin: tabs, search, what it shows and what it asks the database."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tasksapp.admin.jobs import listing as job_list
from tasksapp.admin.jobs.search import JobSearch
from tasksapp.jobs import listing
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import TookTooLong
from tasksapp.models import UNTIL_RESUMED, BizType, DeadCount, Job, JobCount, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row, store_job

pytestmark = pytest.mark.django_db
AGO = -timedelta(minutes=5)


def context(person: Client, **query: Any) -> Any:
    answer = person.get(reverse("admin:tasksapp_job_changelist"), query)
    assert answer.status_code == 200, answer.context["problem"]
    return answer.context


def titles(person: Client, **query: Any) -> list[str]:
    return [row.title for row in context(person, **query)["rows"]]


def test_each_tab_shows_its_jobs(person: Client, biz_type: BizType) -> None:
    for status in Status:
        store_job(biz_type, status, due_in=AGO if status != Status.PENDING else -AGO, biz_id=status)
    store_job(biz_type, due_in=AGO, biz_id="due")

    assert titles(person) == ["due", "pending"]
    assert titles(person, tab="due") == ["due"]
    assert titles(person, tab="running") == ["running"]
    assert titles(person, tab="dead") == ["dead"]
    assert titles(person, tab="done") == ["succeeded"]
    assert set(titles(person, tab="off")) == {"cancelled", "skipped", "dropped"}
    assert len(titles(person, tab="all")) == 8


def test_a_search_finds_ids_biz_ids_and_their_beginnings(person: Client, biz_type: BizType) -> None:
    job = store_job(biz_type, Status.DEAD, biz_id="order-41")
    store_job(biz_type, biz_id="order-42")

    assert titles(person, q="order-41") == ["order-41"]
    assert titles(person, q=str(job.id)) == ["order-41"]
    assert set(titles(person, q="order-*")) == {"order-41", "order-42"}
    assert titles(person, q="order-*", tab="dead") == ["order-41"]
    assert titles(person, q="order-") == []


@pytest.mark.parametrize("tab", ["pending", "dead", "all"])
def test_each_condition_without_a_field_has_a_chip_that_leaves_just_it_out(
    person: Client, biz_type: BizType, tab: str
) -> None:
    times = {field.name: field for field in fields(JobFilter) if field.name.endswith(("_from", "_until"))}
    asked: dict[str, Any] = {
        **dict.fromkeys(times, "2026-07-01T12:00:00+00:00"),
        "biz_id": "A-*",
        "error_class": "http.503",
        "flow_key": "shop-7",
        "ids": [str(UUID(int=1)), str(UUID(int=2))],
        "operation": "17",
        "series": "9",
    }
    in_fields = {
        "pending": {"next_from", "next_until"},
        "dead": {"ended_from", "ended_until", "error_class"},
        "all": set(),
    }

    chips = context(person, tab=tab, biz_type="order.close", **asked)["chips"]

    assert asked.keys() | {"status", "biz_type"} == {field.name for field in fields(JobFilter)}
    whole = JobFilter.parse({**asked, "biz_type": "order.close"})
    left = [JobSearch.parse(QueryDict(url[1:])) for _words, url in chips]
    assert {search.tab.name for search in left} == {tab}
    expected = [
        JobFilter.parse({**asked, "biz_type": "order.close", name: ""}) for name in asked.keys() - in_fields[tab]
    ]
    assert whole not in expected
    assert {search.job_filter for search in left} == set(expected)
    assert len(left) == len(expected)


def test_a_search_in_bodies_says_how_far_it_looked(person: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="a", body='{"customer": "c-123"}')
    store_job(biz_type, Status.DEAD, biz_id="b")

    found = context(person, q="body:c-123", tab="dead", biz_type="order.close")

    assert [row.title for row in found["rows"]] == ["a"]
    assert found["note"] == "All 2 bodies were looked at."


def test_encrypted_bodies_cannot_be_searched(person: Client, biz_type: BizType) -> None:
    Job.objects.filter(id=store_job(biz_type, Status.DEAD).id).update(request="@")
    store_job(biz_type, Status.DEAD, biz_id="a", body='{"customer": "c-123"}')
    query = {"q": "body:c-123", "tab": "dead", "biz_type": "order.close"}

    found = context(person, **query)
    assert [row.title for row in found["rows"]] == ["a"]
    assert found["note"] == "All 2 bodies were looked at. 1 of these cannot be searched: they are encrypted."

    BizType.objects.update(encrypted=True)
    answer = person.get(reverse("admin:tasksapp_job_changelist"), query)
    assert "The bodies of order.close are encrypted" in answer.content.decode()


def test_who_may_not_see_bodies_may_not_search_in_them(viewer: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, body='{"customer": "c-123"}')

    answer = viewer.get(
        reverse("admin:tasksapp_job_changelist"), {"q": "body:c-123", "tab": "dead", "biz_type": "order.close"}
    )

    assert "may not search in bodies" in answer.content.decode()
    assert answer.context["rows"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"foo": "1"},
        {"tab": "x"},
        {"q": "\0"},
        {"q": "body:x"},
        {"page": "x"},
        {"next_from": "soon"},
        {"ids": "x"},
        {"biz_type": "none.such"},
        {"operation": "9" * 40},
        {"error_class": "a" * 1_001},
        {"range": "x"},
    ],
)
def test_a_bad_address_is_answered_with_a_sentence(person: Client, biz_type: BizType, query: dict[str, str]) -> None:
    store_job(biz_type)

    answer = person.get(reverse("admin:tasksapp_job_changelist"), query)

    assert answer.status_code == 400
    assert answer.context["problem"].endswith(".")
    assert 'role="alert"' in answer.content.decode()


@pytest.mark.parametrize(
    ("zone", "time"), [("Asia/Shanghai", "9999-12-31T23:59:59Z"), ("America/New_York", "0001-01-01T00:00:00Z")]
)
@pytest.mark.parametrize("name", ["due_from", "due_until", "next_from", "next_until"])
def test_a_time_that_the_zone_has_no_date_for_is_answered_with_a_sentence(
    person: Client, settings: Any, zone: str, time: str, name: str
) -> None:
    settings.TIME_ZONE = zone

    page = person.get(reverse("admin:tasksapp_job_changelist"), {name: time})

    assert page.status_code == 400
    assert "cannot be searched for" in page.content.decode()


def test_what_takes_too_long_is_answered_with_a_sentence(
    person: Client, biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*args: Any, **options: Any) -> None:
        raise TookTooLong

    monkeypatch.setattr(listing.JobList, "page", give_up)

    assert "longer than 2 seconds" in context(person)["problem"]


def test_the_tabs_have_the_loaders_numbers(person: Client, biz_type: BizType, make_biz_type: MakeBizType) -> None:
    other = make_biz_type("other")
    now = timezone.now()
    for each, factor in ((biz_type, 1), (other, 1_000)):
        JobCount.objects.create(
            biz_type=each, pending=4 * factor, due_now=3 * factor, running=2 * factor, dead=factor, counted_at=now
        )
    store_job(biz_type, Status.CANCELLED)

    every = context(person)
    one = context(person, biz_type="order.close")

    assert [tab.jobs for tab in every["tabs"]] == ["4,004", "3,003", "2,002", "1,001", "", "1", ""]
    assert every["as_of"]
    assert [tab.jobs for tab in one["tabs"]] == ["4", "3", "2", "1", "", "", ""]


def test_what_was_searched_for_is_counted_in_its_own_tab_only(person: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="a")
    store_job(biz_type, Status.DEAD, biz_id="b")

    found = context(person, tab="dead", q="a")

    assert {tab.label: tab.jobs for tab in found["tabs"] if tab.jobs} == {"Dead": "1"}


def test_pages_follow_each_other(person: Client, biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_ROWS", 2)
    for number in range(5):
        store_job(biz_type, due_in=timedelta(minutes=number), biz_id=str(number))

    first = context(person)
    second = person.get(reverse("admin:tasksapp_job_changelist") + first["next_url"]).context
    third = person.get(reverse("admin:tasksapp_job_changelist") + second["next_url"]).context

    shown = [[row.title for row in page["rows"]] for page in (first, second, third)]
    assert shown == [["0", "1"], ["2", "3"], ["4"]]
    assert (first["first_url"], third["next_url"]) == ("", "")


def test_why_a_job_waits_is_looked_up_once_for_a_biz_type(
    person: Client, biz_type: BizType, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = make_biz_type("paused", paused_until=UNTIL_RESUMED, paused_by="ada")
    for each in (biz_type, paused, paused, paused):
        store_job(each, due_in=AGO)
    asked: list[list[str]] = []
    real = job_list.holds

    def spy(biz_types: Any, *, now: Any) -> dict[str, str]:
        asked.append(sorted(each.code for each in biz_types))
        return real(biz_types, now=now)

    monkeypatch.setattr(job_list, "holds", spy)

    found = context(person)

    assert asked == [["order.close", "paused"]]
    waits = [cell.html for row in found["rows"] for cell in row.cells if cell.name == "waits"]
    assert sum("paused" in text for text in waits) == 3


def test_only_the_verbs_that_the_tab_and_the_person_allow(
    person: Client, viewer: Client, biz_type: BizType, django_user_model: Any
) -> None:
    store_job(biz_type)
    store_job(biz_type, Status.DEAD)
    viewer.logout()
    operator = django_user_model.objects.create_user("operator", password="x", is_staff=True)
    names = ["view_job", "redrive_job", "run_now_job"]
    operator.user_permissions.set(Permission.objects.filter(codename__in=names))

    def verbs(**query: str) -> list[str]:
        return [button.name for button in context(viewer, **query)["buttons"]]

    viewer.force_login(operator)
    assert verbs(tab="pending") == ["run_now"]
    assert verbs(tab="dead") == ["redrive"]
    assert verbs(tab="running") == []
    viewer.force_login(django_user_model.objects.get(username="viewer"))
    assert verbs(tab="dead") == []
    assert "_selected_action" not in viewer.get(reverse("admin:tasksapp_job_changelist")).content.decode()


def test_all_that_match_lead_to_a_plan_with_the_same_filter(person: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="order-1", error_class="http.503")

    found = context(person, tab="dead", biz_type="order.close", error_class="http.503", q="order-*")

    plan = {button.name: button.plan_url for button in found["buttons"]}["redrive"]
    address, query = plan.split("?")
    assert address == reverse("admin:tasksapp_operation_plan")
    assert set(query.split("&")) == {
        "verb=redrive", "status=dead", "biz_type=order.close", "error_class=http.503", "biz_id=order-%2A",
    }  # fmt: skip
    assert person.get(plan).status_code == 200


def test_kinds_of_errors_can_be_chosen_on_the_tab_of_dead_jobs(person: Client, biz_type: BizType) -> None:
    DeadCount.objects.create(biz_type=biz_type, error_class="http.503", dead=1, counted_at=timezone.now())

    assert [name for name, _, _ in context(person, tab="dead")["error_classes"]] == ["http.503"]
    assert context(person, tab="pending")["error_classes"] == []


def test_errors_and_bodies_are_hidden_from_who_may_not_see_them(viewer: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, last_error="status 500: s3cret-answer", body='{"card": "s3cret-body"}')

    page = viewer.get(reverse("admin:tasksapp_job_changelist"), {"tab": "dead"}).content.decode()

    assert "s3cret" not in page


def test_other_texts_than_english_ones_are_shown_as_they_are(person: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="طلب-٤٢ 🎉", last_error="خطأ <b>" + "x" * 400)

    page = person.get(reverse("admin:tasksapp_job_changelist"), {"tab": "dead"}).content.decode()

    assert "طلب-٤٢ 🎉" in page
    assert 'dir="auto"' in page
    assert "خطأ &lt;b&gt;" in page


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"tab": "due"},
        {"tab": "dead"},
        {"tab": "done"},
        {"tab": "off"},
        {"tab": "dead", "biz_type": "order.close", "error_class": "http.503", "range": "today"},
        {"tab": "dead", "biz_type": "order.close", "q": "body:42"},
        {"q": "order-*"},
    ],
)
def test_a_page_asks_twelve_questions_at_most_and_reads_no_bodies(
    person: Client, make_biz_type: MakeBizType, query: dict[str, str]
) -> None:
    kinds = [make_biz_type(code) for code in ("order.close", "b", "c", "d")]
    Job.objects.bulk_create(
        job_row(kinds[number % 4], status, biz_id=f"order-{number}", body='{"big": "body-42"}')
        for status in Status
        for number in range(60)
    )
    person.get(reverse("admin:tasksapp_job_changelist"))

    with CaptureQueriesContext(connection) as queries:
        context(person, **query)

    # Two are for the session and the person; these are there since a test is a transaction.
    within = ("SAVEPOINT", "RELEASE", "SET LOCAL")
    sent = [one["sql"] for one in queries.captured_queries if not one["sql"].startswith(within)]
    assert len(sent) <= 14
    asked = [sql for sql in sent if "delayhub_job" in sql]
    assert all('"body"' not in sql for sql in asked if "body" not in query.get("q", ""))
    assert all("LIMIT" in sql or '"id" IN' in sql or "delayhub_job_count" in sql for sql in asked)
