"""The pages of the API's docs, under the project's content security policy."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tasksapp.access.keys import issue_key

pytestmark = pytest.mark.django_db(transaction=True)

#: Swagger UI draws sixty operations in one go, which takes a busy machine its time.
DRAWN_MS = 60_000


@pytest.mark.nightly  # by day: the test below, and tests/integration/tasksapp/api/openapi
def test_the_docs_of_the_api_show_its_operations_under_the_policy(
    live_server: object, page: Page, settings: Any
) -> None:
    settings.DELAYHUB = {"SCHEMA_ACCESS": "anyone"}
    page.set_default_timeout(DRAWN_MS)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    page.goto(f"{live_server}/api/docs/")
    page.locator(".opblock").first.click()
    page.locator(".opblock-body").first.wait_for()

    assert complaints == []


def test_a_caller_shows_a_key_and_tries_the_api_with_it(live_server: object, page: Page) -> None:
    page.set_default_timeout(DRAWN_MS)
    key = issue_key("shop").key
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)

    page.goto(f"{live_server}/api/docs/")
    page.get_by_label("API key").fill("dh_wrong")
    page.get_by_role("button", name="Show the API").click()
    page.get_by_text("is not known").wait_for()
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Show the API").click()
    page.locator("#operations-Jobs-list_jobs").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()

    page.locator(".live-responses-table .response-col_status", has_text="200").wait_for()
    assert complaints == []
