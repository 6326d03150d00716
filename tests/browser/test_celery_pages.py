"""Celery's queues and the system in a real browser: acted on, on a phone, without scripts, and for everybody."""

from __future__ import annotations

from typing import Any

import celery._state
import pytest
import redis
from axe_playwright_python.sync_playwright import Axe
from celery import Celery
from django.db.models.functions import Now
from playwright.sync_api import Browser, Page, expect

import delayhub
from delayhub.engine import DelayQueue, TimerLane
from tasksapp.models import BizType, LoaderReport
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.browser.shots import Shots
from tests.limits_scene import hold_back
from tests.redis_time import redis_now_ms
from tests.unique_scene import take_keys

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = {
    "queues": "celeryqueue/",
    "waiting": "celeryqueue/queue/?queue=celery",
    "ready": "celeryqueue/queue/?queue=celery&tab=ready",
    "parked": "celeryqueue/queue/?queue=celery&tab=parked",
    "leased": "celeryqueue/queue/?queue=celery&tab=leased",
    "dead": "celeryqueue/queue/?queue=celery&tab=dead",
    "search": "celeryqueue/queue/?queue=celery&q=order-90003",
    "keys": "celeryqueue/keys/?queue=celery",
    "timers": "celeryqueue/queue/?queue=delayhub.timers",
    "system": "system/",
    "check": "system/?check=1",
}


@pytest.fixture
def app(
    current_celery: Celery, broker: str, settings: Any, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> Celery:
    """An app whose broker has something in every place, and two workers."""
    settings.DELAYHUB = {"REDIS_URL": broker.replace("delayhub://", "redis://"), "NEAR_WINDOW_SECONDS": 7200}
    current_celery.conf.broker_url = broker
    delayhub.install(current_celery)
    monkeypatch.setattr(celery._state, "default_app", current_celery)  # that of the web server's threads
    queue = DelayQueue(redis_client, "celery")
    for number in range(6):
        current_celery.send_task("shop.tasks.charge", [f"order-{number}"])
    claimed = queue.claim(6).entries
    queue.bury(
        [queue.lease(entry.id, entry.token) for entry in claimed[:3]],
        reason="16 leases ran out: every worker that had it was lost",
    )
    for number in range(60):
        current_celery.send_task(
            "shop.tasks.close_unpaid_order", [f"order-{90_000 + number}"], {"notify": True}, countdown=60 + 41 * number
        )
    for number in range(3):
        current_celery.send_task("shop.tasks.mail", [f"王小明 {number}"], queue="mail.with.a.very.long.name")
        current_celery.send_task("shop.tasks.charge", [f"order-{number}"])
    write_workers(redis_client, running=claimed[3].id, held=claimed[4].id)
    lane = TimerLane(redis_client, "delayhub.timers")
    lane.ensure("order.close", [(f"t{number}", redis_now_ms(redis_client) + 60_000) for number in range(40)])
    lane.client.set(lane.keys.epoch, "e1")
    lane.hold("w1", lease_ms=600_000)
    return current_celery


def write_workers(client: redis.Redis, *, running: str = "run", held: str = "held") -> None:
    """Heartbeats of two workers, which end after 15 seconds as those of real ones do."""
    now_ms = redis_now_ms(client)
    for number in (1, 2):
        beat = Beat(
            name=f"w{number}", host="shop-1", pid=4710 + number, node=f"w{number}@shop-1", pool="prefork",
            version=delayhub.__version__, concurrency=8, queues=["celery", "delayhub.timers"], open_callbacks=312,
            tasks=[(running, "shop.tasks.charge", now_ms - 65_000)] if number == 1 else [], held=[held],
            running_count=2 - number, started_ms=now_ms - 7_200_000, last_claim_ms=now_ms - 1_000, seen_ms=now_ms,
            is_loader=number == 1, purged_ms=now_ms - 60_000, purged_jobs=1_200,
        )  # fmt: skip
        write_beat(client, beat)


@pytest.fixture
def site(live_server: Any, django_user_model: Any, app: Celery) -> str:
    django_user_model.objects.create_superuser("ada", password="analytical")
    BizType.objects.create(code="order.close", url="https://shop.example/hooks/close")
    LoaderReport.objects.create(epoch="e1", redis="redis.internal:6379/0", worker="shop-1:4711", seen_at=Now())
    return f"{live_server.url}/admin/"


def log_in(page: Page, site: str) -> None:
    page.goto(site)
    page.fill("#id_username", "ada")
    page.fill("#id_password", "analytical")
    page.click("input[type=submit]")


def scheme_of(page: Page) -> str:
    return (page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") and "dark") or "light"


def test_a_person_finds_a_task_and_runs_it_now(page: Page, site: str) -> None:
    log_in(page, site)

    page.click("text=Celery queues")
    page.locator(".delayhub-table").get_by_role("link", name="celery", exact=True).click()
    page.fill("#delayhub-q", "order-90003")
    page.press("#delayhub-q", "Enter")
    expect(page.locator(".delayhub-table tbody tr")).to_have_count(1)
    page.check("input[name=ids]")
    page.click("button:has-text('Run now')")

    expect(page.locator(".messagelist")).to_contain_text("1 message is due now.")
    expect(page.locator(".delayhub-tabs [aria-current]")).to_contain_text("59")


def test_a_whole_tab_is_asked_about_before_it_is_revoked(page: Page, site: str, shots: Shots) -> None:
    log_in(page, site)
    page.goto(f"{site}tasksapp/{PAGES['dead']}")

    page.check("input[name=whole]")
    page.click("button:has-text('Revoke')")
    expect(page.locator(".delayhub-page")).to_contain_text("3 messages of celery (Dead).")
    shots.take(page, f"celery-confirm-{scheme_of(page)}")
    page.fill("#id_reason", "they came twice")
    page.click("button:has-text('Revoke')")

    expect(page.locator(".messagelist")).to_contain_text("3 messages were revoked.")
    expect(page.locator(".delayhub-empty")).to_contain_text("No message is dead.")


def test_a_unique_key_is_found_and_freed(page: Page, site: str, shots: Shots, redis_client: redis.Redis) -> None:
    take_keys(DelayQueue(redis_client, "celery"))
    log_in(page, site)
    page.goto(f"{site}tasksapp/celeryqueue/queue/?queue=celery")

    page.click("text=Unique keys that are taken")
    expect(page.locator(".delayhub-table tbody tr")).to_have_count(5)
    page.fill("#delayhub-q", "ORDER=90007")
    page.press("#delayhub-q", "Enter")
    expect(page.locator(".delayhub-table tbody tr")).to_have_count(1)
    page.click("button:has-text('Free')")
    expect(page.locator(".delayhub-page")).to_contain_text("The first call that waits has the key at once")
    shots.take(page, f"celery-free-key-{scheme_of(page)}")
    page.fill("#id_reason", "it hangs")
    page.click("button:has-text('Free the key')")

    expect(page.locator(".messagelist")).to_contain_text("The key was freed")
    row = page.locator(".delayhub-table tbody tr").first
    expect(row).to_contain_text("1f6c2d1e-7f0a-4f4e-9d58-0c5a8a3f1b10")
    expect(row.locator("td.delayhub-number")).to_have_text("2")


@pytest.mark.nightly  # by day: test_every_page.py, whose scene has a queue, its keys and the system
def test_every_page_is_clean_fits_its_screen_and_is_for_everybody(
    page: Page, site: str, shots: Shots, redis_client: redis.Redis
) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    hold_back(DelayQueue(redis_client, "celery"))
    take_keys(DelayQueue(redis_client, "celery"))
    log_in(page, site)
    width = 1440 if scheme_of(page) == "light" else 390  # contrast depends on the one, room on the other
    page.set_viewport_size({"width": width, "height": 900})

    for name, address in PAGES.items():
        if "system" in address:
            write_workers(redis_client)  # looking at the pages before took longer than a heartbeat is kept
        page.goto(f"{site}tasksapp/{address}")
        shots.take(page, f"celery-{name}-{width}-{scheme_of(page)}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        found = Axe().run(page, context=".delayhub-page")
        assert found.violations_count == 0, (name, found.generate_report())

    assert errors == []


@pytest.mark.nightly  # by day: tests/integration/tasksapp/admin/celery_queues
def test_everything_works_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, site)
    page.goto(f"{site}tasksapp/{PAGES['waiting']}")

    page.locator("input[name=ids]").nth(0).check()
    page.locator("input[name=ids]").nth(1).check()
    page.click("button:has-text('Move to a time')")
    page.fill("#id_due_at", "2090-01-01T10:00:00")
    page.click("button:has-text('Move to a time')")

    expect(page.locator(".messagelist")).to_contain_text("2 messages wait until 2090-01-01 10:00:00")
    context.close()
