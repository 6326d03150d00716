"""An operator's bad morning, in a real browser on a real site: from the alarm to the last job delivered.

The receiver was down, and all its jobs died. The operator looks why, calls the receiver once to see that it is back,
tries twenty jobs, and then lets all the others go, and watches until none is left. ``OPERATORS_DAY_JOBS`` says how many
jobs died; in the suite it is a few hundred.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Locator, Page, expect

from delayhub.demo.site import ADMIN_NAME, Site
from tests.acceptance.site import site_in
from tests.browser.shots import Shots
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

JOBS = int(os.environ.get("OPERATORS_DAY_JOBS", "300"))
#: A day like this should take no more than that.
MOST_CLICKS = 12
#: What a site of this machine redrives at least in a second.
SLOWEST_PER_SECOND = 20
#: Makes the biz type, as a person would in the admin.
MAKE_BIZ_TYPE = """
from tasksapp.models import BizType
BizType.objects.create(code="order.cancel", url={url!r}, max_attempts=1, timeout_seconds=5)
"""


class Shop(ThreadingHTTPServer):
    """A receiver that is down until it is mended; it knows which jobs it took."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.is_down = True
        self.took: list[str] = []
        self.tests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hooks/close"


class Answer(BaseHTTPRequestHandler):
    """The answer to a callback."""

    protocol_version = "HTTP/1.1"
    server: Shop

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.is_down:
            text, status = b"upstream connect error: the database moves", 503
        else:
            text, status = b"", 204
            if self.headers.get("delayhub-test"):
                self.server.tests += 1
            else:
                self.server.took.append(self.headers["webhook-id"])
        self.send_response(status)
        if text:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the test asks the receiver."""
        del arguments


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as shop:
        thread = threading.Thread(target=shop.serve_forever, daemon=True)
        thread.start()
        yield shop
        shop.shutdown()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path) as site:
        yield site


class Operator:
    """Somebody with a browser, whose clicks are counted."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page = page
        self.clicks = 0
        page.goto(f"{site.url}/admin/")
        page.fill("#id_username", ADMIN_NAME)
        page.fill("#id_password", site.admin_password)
        page.keyboard.press("Enter")
        expect(page.locator("#user-tools")).to_be_visible()

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1

    def link(self, name: str) -> None:
        """Clicks on the first link of that name."""
        self.click(self.page.get_by_role("link", name=name).first)

    def button(self, name: str) -> None:
        """Clicks on the first button of that name."""
        self.click(self.page.get_by_role("button", name=name).first)


def dead_jobs(site: Site, shop: Shop) -> None:
    """Lets the shop's jobs die."""
    shell = [sys.executable, "-m", "django", "shell", "-c", MAKE_BIZ_TYPE.format(url=shop.url)]
    subprocess.run(shell, env=site.environment, check=True, timeout=60, stdout=subprocess.DEVNULL)
    with requests.Session() as api:
        api.headers["Authorization"] = f"Bearer {site.api_key}"
        for start in range(0, JOBS, 1_000):
            wanted = range(start, min(start + 1_000, JOBS))
            bulk = {
                "jobs": [{"biz_type": "order.cancel", "biz_id": f"order-{n}", "body": {"order": n}} for n in wanted]
            }
            api.post(f"{site.url}/api/v1/jobs/bulk", json=bulk, timeout=60).raise_for_status()


@pytest.mark.nightly  # by day: test_admin.py, test_operations.py
def test_an_operators_day(browser: Browser, site: Site, shop: Shop, shots: Shots) -> None:
    dead_jobs(site, shop)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(60_000)
    operator = Operator(page, site)

    def shot(name: str) -> None:
        shots.take(page, f"operators-day-{name}")

    # The overview refreshes itself; the loader counts every few seconds.
    dead = f"{JOBS:,}"
    issue = page.locator(".delayhub-page tr", has_text="HTTP 503").filter(has_text=dead)
    expect(issue).to_be_visible(timeout=(30 + JOBS / SLOWEST_PER_SECOND) * 1_000)
    shot("1-overview")

    operator.click(issue.get_by_role("link", name="Look"))
    expect(page.locator("body")).to_contain_text("upstream connect error: the database moves")
    shot("2-job")

    shop.is_down = False  # the shop's people have mended it
    operator.link("Issues")
    operator.link("Test")
    operator.button("Send test")
    expect(page.locator("body")).to_contain_text("204")
    assert shop.tests == 1
    shot("3-test")

    operator.link("Issues")
    operator.click(page.locator("tr", has_text="HTTP 503").get_by_role("link", name="Redrive …"))
    page.get_by_label("Reason").fill("the shop's database moved")
    operator.button("Count the jobs")
    expect(page.locator(".delayhub-count")).to_contain_text(dead)
    page.get_by_label("Jobs of the trial").fill("20")
    operator.click(page.get_by_label("at once"))
    shot("4-plan")
    operator.click(page.locator("#delayhub-start button[value=start]"))
    expect(page.get_by_text("started by", exact=False).first).to_be_visible()
    shot("5-running")

    # Nothing is clicked any more: the page follows the operation until it is over.
    expect(page.locator(".delayhub-badge", has_text="done")).to_be_visible(
        timeout=(60 + JOBS / SLOWEST_PER_SECOND) * 1_000
    )
    wait_until(lambda: len(set(shop.took)) == JOBS, otherwise=lambda: len(set(shop.took)))
    page.reload()
    expect(page.locator(".delayhub-page")).to_contain_text(dead)
    shot("6-done")
    assert len(shop.took) == JOBS, "a job was delivered twice"
    assert operator.clicks <= MOST_CLICKS
