"""The pages of the API's docs, under the project's content security policy."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_docs_of_the_api_show_its_operations_under_the_policy(live_server: object, page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    page.goto(f"{live_server}/api/docs/")
    page.locator(".opblock").first.click()
    page.locator(".opblock-body").first.wait_for()

    assert complaints == []
