"""A person answers by a link on a phone: in a real Chromium, in both languages, by day and by night, and once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tasksapp import jobs
from tasksapp.api import answer_page
from tasksapp.models import BizType, Job
from tests.browser.shots import Shots

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "May expense 42 of 310 € be paid, of which Ada says that it cannot wait until her holidays are over?"


@pytest.fixture
def url(live_server: Any, settings: Any) -> str:
    """That of a link to a job that waits."""
    answer_page._asked.forget()
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0", "SITE_URL": live_server.url}
    BizType.objects.create(code="after.answer", url="https://shop.example/hooks")
    BizType.objects.create(code="ask", url="https://shop.example/hooks", on_resolved="after.answer")
    job = jobs.create("ask", biz_id="42", delay=timedelta(days=3))
    outcomes = ["approved", "rejected, since the receipts are missing and nobody can find them any more"]
    return jobs.make_link(job.job_id, outcomes=outcomes, given_to="eve", question=QUESTION).url


@pytest.fixture(params=[("light", "en"), ("dark", "zh-CN")], ids="-".join)
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    look, language = request.param
    options: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "color_scheme": look, "locale": language}
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def look_at(phone: Page, name: str) -> None:
    """Whether everybody can use the page, as wide as it is."""
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    found = Axe().run(phone).response["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], name


def test_a_person_chooses_and_answers_and_the_link_is_used_up(phone: Page, url: str, shots: Shots) -> None:
    chinese = phone.context.new_page().evaluate("navigator.language") == "zh-CN"
    said = {"used": "已被使用" if chinese else "was used already", "done": "谢谢" if chinese else "Thank you"}
    complaints: list[str] = []
    phone.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    other = phone.context.new_page()

    for page in (phone, other):
        page.goto(url)
        expect(page.get_by_role("heading")).to_have_text(QUESTION)
    assert "#" not in phone.url
    phone.reload()  # as phones do with tabs in the background
    expect(phone.get_by_role("radio")).to_have_count(2)
    expect(phone.get_by_role("radio", checked=True)).to_have_count(0)
    expect(phone.get_by_role("status").get_by_role("paragraph")).to_have_count(0)  # nothing is said that is not so
    phone.get_by_role("button").click()  # without a choice nothing is sent
    assert Job.objects.get(biz_type__code="ask").status == "pending"
    look_at(phone, "asks")
    shots.take(phone, f"answer-asks-{'zh-dark' if chinese else 'en-light'}")

    phone.get_by_label("approved").check()
    phone.get_by_role("button").click()
    expect(phone.get_by_text(said["done"])).to_be_visible()
    look_at(phone, "thanks")
    shots.take(phone, f"answer-thanks-{'zh-dark' if chinese else 'en-light'}")
    assert Job.objects.get(biz_type__code="ask").status == "cancelled"
    assert complaints == []

    other.get_by_label("rejected").check()
    other.get_by_role("button").click()
    expect(other.get_by_text(said["used"])).to_be_visible()
    expect(other.get_by_role("button")).to_be_hidden()
    assert Job.objects.filter(biz_type__code="after.answer").count() == 1


def test_a_link_without_its_end_and_a_browser_without_scripts_are_told(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(url)
    expect(plain.get_by_text("needs JavaScript")).to_be_visible()
    expect(plain.get_by_role("button")).to_be_hidden()
    context.close()

    context = browser.new_context()
    page = context.new_page()
    page.goto(url.partition("#")[0])
    expect(page.get_by_text("There is no such link")).to_be_visible()
    page.goto(url)  # in the same tab the browser changes the fragment only
    expect(page.get_by_role("heading")).to_have_text(QUESTION)
    context.close()
