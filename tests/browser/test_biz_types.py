"""A person at work on a biz type, in a real browser: defines it, tries it, and pauses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tasksapp.biz_types.sample_call import forget_samples
from tasksapp.models import BizType
from tests.browser.shots import Shots
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    forget_samples()
    with Receiver() as listening:
        yield listening


@pytest.fixture
def site(live_server: Any, django_user_model: Any, settings: Any) -> str:
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0", "ALLOWED_NETWORKS": ["127.0.0.0/8"]}
    django_user_model.objects.create_superuser("ada", password="analytical")
    return str(live_server.url)


def log_in(page: Page, site: str) -> None:
    page.set_default_timeout(60_000)
    page.goto(f"{site}/admin/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", "analytical")
    page.click("input[type=submit]")


def test_a_person_defines_tries_and_pauses_a_biz_type(page: Page, site: str, receiver: Receiver, shots: Shots) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    log_in(page, site)
    page.goto(f"{site}/admin/tasksapp/biztype/add/")
    page.fill("#id_code", "order.close")
    expect(page.locator("#id_task_name")).to_be_hidden()
    page.fill("#id_url", receiver.url())
    page.click("input[name=_save]")
    expect(page.locator("#content")).to_contain_text("Copy it now")
    page.get_by_role("link", name="I have copied it: continue").click()

    page.get_by_role("link", name="order.close").first.click()
    expect(page.locator(".delayhub-facts").first).to_contain_text("gives up after 16 attempts")
    page.get_by_role("link", name="Retries").click()
    page.fill("#id_max_attempts", "3")
    page.press("#id_max_attempts", "Tab")
    expect(page.locator("#retry-schedule")).to_contain_text("gives up after 3 attempts, 30 s to 33 s")
    page.select_option("#id_backoff", "fixed")
    expect(page.locator("#retry-schedule")).to_contain_text("Waits 10 s, 10 s; gives up")
    page.select_option("#id_backoff", "exponential")
    expect(page.locator("#retry-schedule")).to_contain_text("Waits 10 s, 20 s; gives up")
    assert BizType.objects.get().max_attempts == 16
    shots.take(page, "biz-type-retries")
    page.click("input[name=_save]")
    expect(page.locator(".messagelist")).to_contain_text("rder.close is saved")

    page.get_by_role("link", name="Now", exact=True).click()
    page.get_by_role("link", name="Test …").click()
    page.get_by_role("button", name="Send test").click()
    expect(page.locator("#content")).to_contain_text("A job with this answer is done")
    assert receiver.received[0].headers["delayhub-test"] == "1"
    shots.take(page, "biz-type-test")

    page.get_by_role("link", name="Now", exact=True).click()
    page.get_by_role("link", name="Pause …").click()
    expect(page.locator("#id_until")).to_be_hidden()
    page.fill("#id_reason", "db move")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".delayhub-flow")).to_contain_text("paused by ada")
    shots.take(page, "biz-type-paused")

    assert BizType.objects.get().max_attempts == 3
    assert errors == []


def test_without_a_script_a_button_shows_the_schedule(browser: Browser, site: str) -> None:
    biz_type = BizType.objects.create(code="order.close", url="https://shop.example/hooks")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, site)
    page.goto(f"{site}/admin/tasksapp/biztype/{biz_type.pk}/change/?tab=retries")

    page.fill("#id_max_attempts", "3")
    page.get_by_role("button", name="Show schedule").click()

    expect(page.locator("#retry-schedule")).to_contain_text("gives up after 3 attempts")
    expect(page.locator("#id_max_attempts")).to_have_value("3")
    assert BizType.objects.get().max_attempts == 16
    context.close()


@pytest.mark.nightly  # by day each of them in one look: test_every_page.py
@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("light", ""),
        ("dark", "{}/change/"),
        ("light", "{}/change/?tab=retries"),
        ("dark", "{}/secrets/"),
        ("light", "{}/pause/"),
        ("dark", "{}/test/"),
    ],
    indirect=["page"],
)
def test_nothing_keeps_people_from_reading_a_page(page: Page, site: str, path: str) -> None:
    biz_type = BizType.objects.create(code="order.close", url="https://shop.example/hooks")
    log_in(page, site)

    page.goto(f"{site}/admin/tasksapp/biztype/{path.format(biz_type.pk)}")

    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
