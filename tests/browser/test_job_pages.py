"""A person finds and reads jobs in a real browser: by keys, on a phone, without JavaScript; copies what was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as project
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tasksapp.models import Attempt, BizType, Job, Status
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "order-" + "x" * 190


@pytest.fixture
def dead(live_server: Any, settings: Any) -> Job:
    """A dead job with an attempt, among others with long and foreign names."""
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    biz_type = BizType.objects.create(code="order.close", url="https://shop.example/hooks/close")
    store_job(biz_type, Status.DEAD, biz_id=LONG, last_error="e" * 500)
    store_job(biz_type, Status.DEAD, biz_id="طلب-٤٢ 🎉", last_error="خطأ " * 60)
    job = store_job(biz_type, Status.DEAD, biz_id="order-7", body='{"amount": 1e2}', last_error="status 500")
    Attempt.objects.create(
        job=job, number=1, started_at=timezone.now(), duration_ms=28, lateness_ms=3, status_code=500,
        error="status 500", request_line="POST https://shop.example/hooks/close",
        request_headers={"Authorization": "Bearer (hidden)"}, response_body="oops",
    )  # fmt: skip
    return job


def opened(browser: Browser, live_server: Any, django_user_model: Any, **options: Any) -> BrowserContext:
    person = django_user_model.objects.create_superuser("ada", password="analytical")
    client = Client()
    client.force_login(person)
    context = browser.new_context(**options)
    cookie = client.cookies[project.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": project.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    context.set_default_timeout(60_000)
    return context


@pytest.fixture
def desk(browser: Browser, live_server: Any, django_user_model: Any) -> Iterator[Page]:
    context = opened(browser, live_server, django_user_model, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def phone(browser: Browser, live_server: Any, django_user_model: Any) -> Iterator[Page]:
    context = opened(
        browser, live_server, django_user_model, viewport={"width": 390, "height": 800}, java_script_enabled=False
    )
    yield context.new_page()
    context.close()


def test_keys_lead_through_the_rows_and_to_the_search(desk: Page, live_server: Any, dead: Job) -> None:
    desk.goto(live_server.url + reverse("admin:tasksapp_job_changelist") + "?tab=dead")

    desk.keyboard.press("j")
    expect(desk.locator("[data-delayhub-row] a").first).to_be_focused()
    desk.keyboard.press("j")
    desk.keyboard.press("k")
    expect(desk.locator("[data-delayhub-row] a").first).to_be_focused()
    desk.keyboard.press("/")
    expect(desk.get_by_label("Search", exact=True)).to_be_focused()
    desk.keyboard.type("order-7")
    desk.keyboard.press("Enter")
    expect(desk.locator("[data-delayhub-row]")).to_have_count(1)


def test_buttons_wait_until_jobs_are_chosen(desk: Page, live_server: Any, dead: Job) -> None:
    desk.goto(live_server.url + reverse("admin:tasksapp_job_changelist") + "?tab=dead")
    redrive = desk.locator("button[value=redrive]")
    expect(redrive).to_be_disabled()

    desk.get_by_label("Choose all jobs of this page").check()
    expect(desk.locator("[data-delayhub-chosen]")).to_have_text("3 chosen")
    redrive.click()

    expect(desk.locator(".messagelist")).to_contain_text("3 jobs pending again")
    assert set(Job.objects.values_list("status", flat=True)) == {"pending"}


def test_what_was_sent_is_copied_as_a_command(desk: Page, live_server: Any, dead: Job) -> None:
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    desk.goto(live_server.url + reverse("admin:tasksapp_job_change", args=[dead.pk]))

    desk.get_by_role("button", name="Copy as curl").click()
    expect(desk.get_by_role("button", name="Copied")).to_be_visible()

    copied = desk.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -X POST https://shop.example/hooks/close")
    assert "Bearer <SECRET>" in copied
    assert copied.endswith("""--data-raw '{"amount": 1e2}'""")


@pytest.mark.nightly  # by day: test_every_page.py, each of these pages in one look
def test_pages_are_accessible_and_no_wider_than_a_screen(desk: Page, live_server: Any, dead: Job) -> None:
    names = [
        reverse("admin:tasksapp_job_changelist") + "?tab=dead",
        reverse("admin:tasksapp_job_change", args=[dead.pk]),
        reverse("admin:tasksapp_job_change", args=[Job.objects.get(biz_id=LONG).pk]),
    ]
    for width in (1440, 390):
        desk.set_viewport_size({"width": width, "height": 800})
        for name in names:
            desk.goto(live_server.url + name)
            assert desk.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            found = Axe().run(desk).response["violations"]
            assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], (name, width)


@pytest.mark.nightly  # by day: tests/integration/tasksapp/admin/jobs/test_actions.py
def test_a_phone_without_javascript_drops_a_job(phone: Page, live_server: Any, dead: Job) -> None:
    phone.goto(live_server.url + reverse("admin:tasksapp_job_changelist") + "?tab=dead&q=order-7")
    phone.get_by_role("link", name="order-7").click()
    phone.get_by_role("link", name="Drop").click()
    phone.get_by_role("button", name="Drop 1 job").click()

    expect(phone.locator(".messagelist")).to_contain_text("1 job dropped for good")
    dead.refresh_from_db()
    assert dead.status == Status.DROPPED
