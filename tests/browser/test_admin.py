"""A person at work in the admin, in a real browser, in light and dark."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tasksapp.models import Attempt, BizType, Job, Status
from tests.admin_login import log_in
from tests.browser.shots import Shots
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

HALF_AN_HOUR = timedelta(minutes=30)


def test_a_person_defines_a_biz_type_and_acts_on_its_jobs(page: Page, site: str, shots: Shots) -> None:
    theme = (page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") and "dark") or "light"
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def shot(name: str) -> None:
        shots.take(page, f"{name}-{theme}")

    log_in(page, site)
    page.goto(f"{site}/admin/tasksapp/biztype/add/")
    page.fill("#id_code", "order.close")
    page.locator("summary", has_text="Name").click()
    page.fill("#id_name", "Close unpaid orders")
    page.fill("#id_url", "http://10.0.0.1/hook")
    page.click("input[name=_save]")
    expect(page.locator(".errorlist").last).to_contain_text("not a public address")
    shot("biz-type-refused")
    page.fill("#id_url", "https://receiver.example/hook")
    page.click("input[name=_save]")
    expect(page.locator("#content")).to_contain_text("Copy it now")

    biz_type = BizType.objects.get()
    pending = store_job(biz_type, Status.PENDING, biz_id="order-41")
    dead = store_job(
        biz_type,
        Status.DEAD,
        due_in=-HALF_AN_HOUR,
        biz_id="order-42",
        attempts=2,
        last_error="the receiver answered 500",
    )
    store_job(biz_type, Status.SUCCEEDED, due_in=-HALF_AN_HOUR, biz_id="order-40", attempts=1)
    for number in (1, 2):
        Attempt.objects.create(
            job=dead, number=number, started_at=timezone.now(), duration_ms=12, lateness_ms=3, status_code=500,
            error="the receiver answered 500", response_body="oops",
        )  # fmt: skip

    page.goto(f"{site}/admin/")
    expect(page.locator(".delayhub-overview")).to_contain_text("order.close")
    expect(page.locator(".delayhub-overview")).to_contain_text("Redis does not answer: workers go on")
    shot("overview")
    page.goto(f"{site}/admin/tasksapp/biztype/")
    shot("biz-types")
    page.goto(f"{site}/admin/tasksapp/job/?tab=all")
    expect(page.locator("[data-delayhub-row]")).to_have_count(3)
    shot("jobs")

    page.goto(f"{site}/admin/tasksapp/job/{dead.id}/change/")
    expect(page.locator(".delayhub-timeline")).to_contain_text("the receiver answered 500")
    shot("dead-job")
    page.get_by_role("button", name="Redrive").click()
    expect(page.locator(".messagelist")).to_contain_text("1 job pending again")

    page.goto(f"{site}/admin/tasksapp/job/{pending.id}/change/")
    page.get_by_role("link", name="Reschedule").click()
    page.fill("#id_due_at_0", "2030-01-01")
    page.fill("#id_due_at_1", "12:00:00")
    shot("reschedule")
    page.get_by_role("button", name="Reschedule").click()
    expect(page.locator(".messagelist")).to_contain_text("moved to 2030-01-01 12:00:00")

    page.goto(f"{site}/admin/tasksapp/job/?status=pending")
    page.get_by_label("Choose all jobs of this page").check()
    page.get_by_role("button", name="Cancel").first.click()
    page.get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.locator(".messagelist")).to_contain_text("2 jobs cancelled")
    shot("cancelled")

    assert errors == []
    assert set(Job.objects.values_list("status", flat=True)) == {"cancelled", "succeeded"}
