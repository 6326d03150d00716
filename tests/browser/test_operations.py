"""An operator at work on many jobs, in a real browser: plan, trial, run, stop, result."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from delayhub.testing import MovableClock
from tasksapp.models import Attempt, BizType, Job, Operation, Status
from tests.admin_login import log_in
from tests.browser.shots import Shots
from tests.integration.tasksapp.operation_runs import dead_jobs, pending_jobs, turns

pytestmark = pytest.mark.django_db(transaction=True)

#: The page refreshes itself every 5 s.
REFRESHED = 15_000


class Site:
    """What workers do beside the pages: turns of maintenance, and attempts that end well."""

    def __init__(self) -> None:
        self._clock = MovableClock()
        self._turns = turns(self._clock)

    def works(self, seconds: int) -> None:
        """Operations get a turn for each of so many seconds."""
        for _ in range(seconds):
            self._turns.run_once()
            self._clock.advance(seconds=1)

    def delivers(self) -> None:
        """Every job that is due is delivered."""
        for job in Job.objects.filter(status=Status.PENDING).exclude(operation_id=None):
            Attempt.objects.create(
                job=job, number=1, started_at=timezone.now() + timedelta(seconds=1), duration_ms=3, lateness_ms=0
            )
            Job.objects.filter(pk=job.pk).update(status=Status.SUCCEEDED, finished_at=timezone.now())
            Operation.objects.filter(pk=job.operation_id).update(succeeded=F("succeeded") + 1)


def test_an_operator_redrives_all_that_match_watches_and_stops(page: Page, site: str, shots: Shots) -> None:
    theme = (page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") and "dark") or "light"
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    biz_type = BizType.objects.create(code="order.close", url="https://receiver.example/hook")
    dead_jobs(biz_type, 60, error_class="http.503", due_in=-timedelta(hours=1))
    dead_jobs(biz_type, 5, error_class="timeout")
    work = Site()

    def shot(name: str) -> None:
        shots.take(page, f"operation-{name}-{theme}")

    log_in(page, site)
    plan = reverse("admin:tasksapp_operation_plan")
    page.goto(f"{site}{plan}?verb=redrive&status=dead&biz_type=order.close&error_class=http.503")
    expect(page.locator("#content")).to_contain_text("Redrive dead jobs of order.close")
    page.fill("#id_reason", "receiver was down")
    shot("plan")
    page.get_by_role("button", name="Count the jobs").click()
    expect(page.locator("#content")).to_contain_text("Counting")
    work.works(seconds=2)

    # the page loads itself again once the jobs are counted
    expect(page.locator(".delayhub-count")).to_contain_text("60 jobs match", timeout=REFRESHED)
    page.fill("#id_rate", "2")
    expect(page.locator("#id_pace_rate")).to_be_checked()
    expect(page.locator("#delayhub-finish")).to_contain_text("2 a second: will finish at")
    shot("counted")
    page.get_by_role("button", name="Redrive 60 jobs").click()
    expect(page.locator(".delayhub-count")).to_contain_text("0 of 60")

    work.works(seconds=10)
    expect(page.locator("#content")).to_contain_text("Trial of 10 jobs: it goes on if 90 %", timeout=REFRESHED)
    work.delivers()
    work.works(seconds=10)
    expect(page.locator("#content")).to_contain_text("enough of them succeeded, so it went on", timeout=REFRESHED)
    shot("running")

    page.get_by_text("Pace …").click()
    page.fill("#id_pace-rate", "1")
    page.get_by_role("button", name="Set the pace").click()
    expect(page.locator(".delayhub-operation .delayhub-facts")).to_contain_text("1 a second")
    page.get_by_text("Stop …").click()
    page.fill("#id_stop-reason", "the receiver is down again")
    shot("stop")
    page.get_by_role("button", name="Stop it").click()
    expect(page.locator("#content")).to_contain_text("the receiver is down again")
    shot("stopped")

    operation = Operation.objects.get()
    assert errors == []
    assert operation.state == "stopped"
    assert 10 <= operation.done < 60
    assert operation.done + operation.left == 60
    assert Job.objects.filter(status=Status.DEAD).count() == 65 - operation.done


def test_the_page_shows_the_result_by_itself_once_the_operation_has_ended(page: Page, site: str) -> None:
    biz_type = BizType.objects.create(code="order.close", url="https://receiver.example/hook")
    pending_jobs(biz_type, 3)
    work = Site()
    log_in(page, site)
    page.goto(f"{site}{reverse('admin:tasksapp_operation_plan')}?verb=cancel&biz_type=order.close")
    page.get_by_role("button", name="Count the jobs").click()
    work.works(seconds=2)
    expect(page.locator(".delayhub-count")).to_contain_text("3 jobs match", timeout=REFRESHED)
    page.get_by_role("button", name="Cancel 3 jobs").click()
    expect(page.locator(".delayhub-count")).to_contain_text("0 of 3")

    work.works(seconds=5)

    expect(page.locator(".delayhub-outcome")).to_contain_text("Done: 3 jobs were changed", timeout=REFRESHED)
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}


@pytest.fixture
def plain_page(browser: Any) -> Any:
    """A browser without JavaScript."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_everything_works_without_javascript(plain_page: Page, site: str) -> None:
    page = plain_page
    biz_type = BizType.objects.create(code="order.close", url="https://receiver.example/hook")
    dead_jobs(biz_type, 30)
    work = Site()
    log_in(page, site)
    page.goto(f"{site}{reverse('admin:tasksapp_operation_plan')}?verb=redrive&biz_type=order.close")
    page.get_by_role("button", name="Count the jobs").click()
    work.works(seconds=2)
    expect(page.locator(".delayhub-count")).to_contain_text("30 jobs match", timeout=REFRESHED)
    page.uncheck("#id_with_trial")
    page.get_by_role("button", name="Redrive 30 jobs").click()
    work.works(seconds=30)

    page.get_by_role("link", name="Refresh").click()
    expect(page.locator(".delayhub-count")).not_to_contain_text("0 of 30")
    page.get_by_text("Stop …").click()
    page.get_by_role("button", name="Stop it").click()
    expect(page.locator("#content")).to_contain_text("stopped by ada")
