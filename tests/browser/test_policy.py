"""The admin under its content security policy: no page breaks it, not even by a style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser

from tasksapp.access.keys import issue_key
from tests.admin_scene import store_scene

pytestmark = pytest.mark.django_db(transaction=True)

#: Notes each breach in the page, also those of styles, which the console may leave out.
LISTEN = """
window.breaches = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.breaches.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


def test_no_page_of_the_admin_breaks_the_policy(
    live_server: Any, browser: Browser, admin_client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}
    scene = store_scene()
    issue_key("shop")
    app = "/admin/tasksapp"
    pages = [
        "/admin/",
        f"{app}/",
        f"{app}/deadcount/",
        f"{app}/job/",
        f"{app}/job/{scene.dead.pk}/change/",
        f"{app}/job/{scene.waiting.pk}/change/",
        f"{app}/job/{scene.waiting.pk}/history/",
        f"{app}/biztype/",
        f"{app}/biztype/add/",
        f"{app}/biztype/{scene.closing.pk}/change/",
        f"{app}/operation/",
        f"{app}/operation/{scene.running_operation.pk}/change/",
        f"{app}/operation/plan/?verb=redrive&status=dead&biz_type=order.close",
        f"{app}/auditentry/",
        f"{app}/apikey/",
        f"{app}/apikey/add/",
        "/admin/auth/user/",
        "/admin/auth/user/add/",
        "/admin/auth/group/add/",
        "/admin/password_change/",
        "/nowhere",
    ]
    context = browser.new_context()
    session = admin_client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server.url)}])
    context.add_init_script(LISTEN)
    page = context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(f"{page.url}: {error}"))

    for address in pages:
        answer = page.goto(f"{live_server.url}{address}")
        page.wait_for_load_state("networkidle")
        assert answer is not None
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        failures += [f"{address}: {breach}" for breach in page.evaluate("window.breaches")]
        if address != "/nowhere":
            assert answer.status == 200, address

    context.close()
    assert failures == []
