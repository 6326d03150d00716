"""Pages that refresh themselves: how often, when not, and what the keys of the keyboard do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from tasksapp.models import BizType, JobCount, Upcoming
from tests.admin_scene import store_scene

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/tasksapp/"
PART = "**/overview/"
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def person(live_server: Any, browser: Browser, admin_client: Client, settings: Any) -> Iterator[Page]:
    """The browser of a superuser, whose clock the test moves."""
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    context = browser.new_context(base_url=str(live_server.url), viewport={"width": 1280, "height": 900})
    session = admin_client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server.url)}])
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.fixture
def polls(person: Page) -> list[str]:
    """The requests for the part of the overview that refreshes itself."""
    found: list[str] = []
    person.on("request", lambda request: found.append(request.url) if "/overview/" in request.url else None)
    return found


def open_overview(person: Page) -> None:
    """Opens it with a clock that stands until the test moves it."""
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    person.clock.install(time=begin)
    person.clock.pause_at(begin + timedelta(seconds=1))
    person.goto(PAGE)
    person.wait_for_function("window.htmx")
    person.clock.run_for(1)  # htmx begins a tick after it was loaded
    expect(person.locator("[data-delayhub-live]")).to_have_attribute("data-htmx-powered", "true")


def answered(person: Page) -> None:
    """Waits until the last poll is answered and shown: while it is not, no other begins."""
    expect(person.locator("[data-delayhub-live]")).not_to_have_class(re.compile("htmx-request"))


def test_a_page_polls_every_five_seconds_while_it_is_seen_and_not_while_it_is_hidden_or_paused(
    person: Page, polls: list[str]
) -> None:
    open_overview(person)
    for _half in range(2):
        with person.expect_response(PART):
            person.clock.run_for(5_000)
        answered(person)
    assert len(polls) == 2

    person.evaluate(HIDE, True)
    person.clock.run_for(10_000)
    assert len(polls) == 2

    with person.expect_response(PART):  # what was hidden for longer than a turn is fresh at once
        person.evaluate(HIDE, False)
    answered(person)
    assert len(polls) == 3

    person.get_by_role("button", name="Stop refreshing").click()
    person.clock.run_for(10_000)
    person.evaluate(HIDE, True)
    person.evaluate(HIDE, False)
    assert len(polls) == 3

    with person.expect_response(PART):
        person.get_by_role("button", name="Refresh again").click()
    assert len(polls) == 4


def test_new_numbers_come_without_a_reload_and_what_was_opened_stays_open(person: Page) -> None:
    biz_type = BizType.objects.create(code="order.close", url="https://shop.example/hook")
    counts = JobCount.objects.create(
        biz_type=biz_type, pending=1, due_now=0, running=0, dead=0, counted_at=timezone.now()
    )
    Upcoming.objects.create(
        biz_type=biz_type,
        at=timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=3),
        span_seconds=300,
        jobs=1,
        counted_at=timezone.now(),
    )
    open_overview(person)
    person.get_by_text("As numbers").first.click()
    counts.pending = 349_120
    counts.save()

    person.clock.run_for(5_000)

    expect(person.get_by_role("link", name="349,120")).to_be_visible()
    expect(person.locator("details.delayhub-numbers").first).to_have_attribute("open", "")


def test_a_person_who_was_logged_out_is_told_so_and_does_not_get_the_login_page_in_the_page(
    person: Page,
) -> None:
    open_overview(person)
    person.context.clear_cookies()

    person.clock.run_for(5_000)

    expect(person.get_by_text("no answer; load the page again")).to_be_visible()
    expect(person.locator("#id_username")).to_have_count(0)
    expect(person.get_by_text("What comes")).to_be_visible()


def test_keys_lead_through_the_rows_and_say_what_they_do(person: Page) -> None:
    store_scene()
    person.goto("/admin/tasksapp/deadcount/")

    person.keyboard.press("j")
    person.keyboard.press("j")
    second = person.evaluate("document.activeElement.closest('tr').rowIndex")
    person.keyboard.press("k")
    first = person.evaluate("document.activeElement.closest('tr').rowIndex")
    person.keyboard.press("/")
    expect(person.get_by_label("Biz type")).to_be_focused()
    person.get_by_role("heading", name="Issues").click()
    person.keyboard.press("?")
    expect(person.get_by_role("dialog")).to_be_visible()

    assert (first, second) == (1, 2)


def test_keys_can_be_turned_off(person: Page) -> None:
    store_scene()
    person.goto("/admin/tasksapp/deadcount/")
    person.keyboard.press("?")
    person.get_by_label("Use these keys").uncheck()
    person.get_by_role("button", name="Close").click()

    person.keyboard.press("j")

    assert person.evaluate("document.activeElement.closest('tbody')") is None
