"""The overview: what it says of jobs, what it costs, and that it says so at each address that has it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.models import BizType, JobCount, Status, Upcoming
from tests.admin_scene import store_scene
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/"
PART = "/admin/tasksapp/deadcount/overview/"
#: What a page may ask beyond session and user; only PostgreSQL is asked for locks that keep creates waiting.
MOST_QUERIES = 14 if connection.vendor == "postgresql" else 13
NOT_OURS = r"django_session|auth_(user|group|permission)|django_admin_log"


def read(browser: Client, page: str = PART) -> str:
    """What a person reads on a page, without tags."""
    return words_of(browser.get(page).content)


def codes_on(page: str) -> list[str]:
    """The codes of the biz types in the table, in its order."""
    return re.findall(r'<tr id="delayhub-biz-type-\d+">\s*<th scope="row"><a [^>]*>([^<]+)</a>', page)


def count_rows(biz_type: BizType, **fields: Any) -> None:
    values = {"pending": 0, "due_now": 0, "running": 0, "dead": 0, "counted_at": timezone.now(), **fields}
    JobCount.objects.create(biz_type=biz_type, **values)


def test_numbers_are_exact_while_the_loader_counts(person: Client, biz_type: BizType) -> None:
    count_rows(biz_type, pending=349_120, due_now=12_300, running=4_012, dead=44_667)

    page = read(person)

    for number in ("349,120", "12,300", "4,012", "44,667"):
        assert number in page
    assert "+" not in page


def test_counts_made_by_the_page_say_where_they_end(
    person: Client, biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksapp.stats.counts.LEAST_EACH", 3)
    monkeypatch.setattr("tasksapp.stats.counts.FARTHEST", 3)
    for _number in range(5):
        store_job(biz_type)

    page = read(person)

    assert "3+" in page
    assert "counts of a biz type end at 3." in page


def test_a_biz_type_that_flows_is_not_called_what_a_breaker_that_is_down_is(
    person: Client, lane: TimerLane, make_biz_type: MakeBizType, settings: Any, redis_server: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": redis_server.url}
    make_biz_type("a.flows")
    make_biz_type("b.down")
    make_biz_type("c.paused", paused_until=timezone.now() + timedelta(hours=1), paused_by="ada", pause_reason="db move")
    make_biz_type("d.disabled", enabled=False)
    at = int((timezone.now() + timedelta(seconds=20)).timestamp() * 1000)
    lane.client.set(lane.keys.queue("b.down").breaker, f"open:{at}:shop.example")

    page = read(person)

    assert re.search(r"a\.flows\s+flowing", page)
    assert re.search(r"b\.down\s+receiver down, retry in (19|20) s", page)
    assert re.search(r"c\.paused\s+paused by ada until [\d: -]+unsigned\s+db move", page)
    assert re.search(r"d\.disabled\s+disabled", page)
    assert " open " not in page


def test_jobs_that_are_late_are_named_above_all_else(
    person: Client, biz_type: BizType, lane: TimerLane, settings: Any, redis_server: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": redis_server.url}
    lane.hold("a loader", lease_ms=60_000)
    lane.claim()
    count_rows(biz_type, pending=12_300, due_now=12_300, oldest_due_at=timezone.now() - timedelta(seconds=41))

    page = read(person)

    assert "Late: order.close; 12,300 jobs are due." in page
    assert "the oldest for 41 s" in page


def test_a_redis_that_is_away_is_said_in_words(person: Client, biz_type: BizType) -> None:
    page = read(person)

    assert "Redis does not answer: workers go on" in page
    assert "Database answers" in page
    assert re.search(r"order\.close\s+Redis does not answer", page)
    assert "flowing" not in page


@pytest.mark.parametrize(
    "query", ["", "?ahead=1h", "?ahead=30d", "?ahead=nonsense", "?biz_types=99", "?biz_types=-x%00"]
)
def test_any_query_string_is_answered(person: Client, query: str) -> None:
    store_scene()

    assert person.get(PAGE + query).status_code == 200
    assert person.get(PART + query).status_code == 200


def test_an_empty_site_says_what_is_missing(person: Client) -> None:
    page = read(person)

    assert "Nothing is dead." in page
    assert "No biz types yet" in page
    assert "Add the first one" in page
    assert "No job is due in that time." in page


@pytest.mark.parametrize("biz_types", [3, 200])
def test_it_asks_the_database_13_times_and_once_for_locks_however_many_biz_types_there_are(
    person: Client, biz_types: int, lane: TimerLane, settings: Any, redis_server: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": redis_server.url}
    store_scene()
    now = timezone.now()
    BizType.objects.bulk_create(
        [BizType(code=f"kind-{number:03}", url="https://shop.example", delivery_rate=5) for number in range(biz_types)]
    )
    for biz_type in BizType.objects.filter(code__startswith="kind-"):
        count_rows(biz_type, pending=5, due_now=5, dead=1, oldest_due_at=now)
        Upcoming.objects.create(biz_type=biz_type, at=now, span_seconds=300, jobs=9_000, counted_at=now)

    for page in (PAGE, PART, "/admin/"):
        with CaptureQueriesContext(connection) as asked:
            answer = person.get(page)

        own = [query["sql"] for query in asked if not re.search(NOT_OURS, query["sql"])]
        assert answer.status_code == 200
        assert len(own) <= MOST_QUERIES, "\n".join(own)


def test_of_many_biz_types_a_few_are_shown_those_that_need_a_person_first_and_the_rest_is_a_link_away(
    person: Client, make_biz_type: MakeBizType
) -> None:
    for number in range(30):
        make_biz_type(f"kind-{number:02}")
    store_job(make_biz_type("zz.late"), due_in=-timedelta(minutes=5))

    few = person.get(PART).content.decode()
    first, second = (person.get(f"{PART}?biz_types={page}").content.decode() for page in (1, 2))

    assert codes_on(few) == ["zz.late", *(f"kind-{number:02}" for number in range(7))]
    assert "23 of 31 are not shown." in few
    assert 'href="?biz_types=1"' in few
    assert "Page 1 of" not in few
    assert codes_on(first) == ["zz.late", *(f"kind-{number:02}" for number in range(24))]
    assert "Page 1 of 2" in first
    assert "not shown" not in first
    assert codes_on(second) == [f"kind-{number:02}" for number in range(24, 30)]


def test_every_biz_type_that_is_late_is_shown_at_once_up_to_a_whole_page(
    person: Client, make_biz_type: MakeBizType
) -> None:
    for number in range(26):
        make_biz_type(f"kind-{number:02}")
    late = [make_biz_type(f"late-{number:02}") for number in range(10)]
    for biz_type in late:
        store_job(biz_type, due_in=-timedelta(minutes=5))

    page = person.get(PART).content.decode()

    assert codes_on(page) == [biz_type.code for biz_type in late]
    assert "26 of 36 are not shown." in page


def test_the_card_of_a_biz_type_on_a_phone_leaves_out_what_there_is_none_of(
    person: Client, make_biz_type: MakeBizType
) -> None:
    quiet, busy = make_biz_type("a.quiet"), make_biz_type("b.busy")
    store_job(busy, due_in=timedelta(hours=1))

    page = person.get(reverse("admin:index")).content.decode()

    cards = {
        row.pk: page.partition(f'id="delayhub-biz-type-{row.pk}"')[2].partition("</tr>")[0] for row in (quiet, busy)
    }
    left_out = {pk: re.findall(r'delayhub-none" data-label="([^"]+)"', card) for pk, card in cards.items()}
    assert left_out == {
        quiet.pk: ["due now", "late (p99)", "pending", "dead", "next"],
        busy.pk: ["due now", "late (p99)", "dead"],
    }


def test_a_list_of_few_biz_types_is_whole_and_has_no_link_to_more(person: Client, make_biz_type: MakeBizType) -> None:
    for number in range(8):
        make_biz_type(f"kind-{number}")

    page = person.get(PART).content.decode()

    assert len(codes_on(page)) == 8
    assert "biz_types=" not in page
    assert "not shown" not in page


def test_a_person_who_may_only_see_jobs_sees_neither_buttons_nor_the_audit(
    client: Client, django_user_model: Any
) -> None:
    store_scene()
    viewer = django_user_model.objects.create_user("vera", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_job"))
    client.force_login(viewer)

    page = client.get(PAGE).content.decode()

    assert "order.close" in page
    for hidden in ("Redrive …", "Drop …", ">Lately<", "the mail provider moves.", "biztype/add"):
        assert hidden not in page


def test_a_person_who_may_not_see_jobs_gets_nothing_of_it(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("nemo", password="x", is_staff=True))

    assert client.get(PART).status_code == 403
    assert client.get(reverse("admin:tasksapp_deadcount_changelist")).status_code == 403


def test_the_part_that_refreshes_says_as_of_when_it_is_and_is_no_whole_page(person: Client, biz_type: BizType) -> None:
    answer = person.get(PART)

    assert re.fullmatch(r"\d\d:\d\d:\d\d", answer["Delayhub-As-Of"])
    assert "no-store" in answer["Cache-Control"]
    assert b"<html" not in answer.content


def test_without_the_package_that_refreshes_the_page_is_whole_and_has_no_button(
    person: Client, biz_type: BizType, settings: Any
) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_htmx"]

    page = person.get(PAGE).content.decode()

    assert "What comes" in page
    assert "live.js" not in page
    assert "keys.js" in page


def test_scripts_and_styles_of_the_page_are_small(person: Client, biz_type: BizType) -> None:
    page = person.get(PAGE).content.decode()

    ours = re.findall(r"/static/((?:tasksapp|django_htmx)/[\w./-]+)", page)
    sizes = {name: Path(str(finders.find(name))).stat().st_size for name in ours}
    assert {"tasksapp/admin.css", "tasksapp/live.js", "django_htmx/htmx-4.min.js"} <= set(sizes)
    assert sum(sizes.values()) <= 60_000, sizes


def test_dead_jobs_of_a_status_lead_to_their_list(person: Client, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="order-42")

    page = person.get(PART).content.decode()

    assert 'href="/admin/tasksapp/job/?tab=dead&amp;biz_type=order.close"' in page
    assert "order-42" in read(person, "/admin/tasksapp/job/?tab=dead&biz_type=order.close")


def test_the_overview_stands_once_on_the_apps_page_also_where_the_first_page_has_it(
    person: Client, biz_type: BizType
) -> None:
    assert person.get(PAGE).content.decode().count("delayhub-overview") == 1
