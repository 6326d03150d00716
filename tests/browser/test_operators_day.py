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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

JOBS = int(os.environ.get("OPERATORS_DAY_JOBS", "300"))
#: A day like this should take no more than that.
MOST_CLICKS = 12
#: What a site of this machine redrives at least in a second.
SLOWEST_PER_SECOND = 20
#: Makes the biz type, as a person would in the admin.
MAKE_BIZ_TYPE = """
from tasksapp.models import BizType
BizType.objects.create(code="order.close", url={url!r}, max_attempts=1, timeout_seconds=5)
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
            bulk = {"jobs": [{"biz_type": "order.close", "biz_id": f"order-{n}", "body": {"order": n}} for n in wanted]}
            api.post(f"{site.url}/api/v1/jobs/bulk", json=bulk, timeout=60).raise_for_status()


def test_an_operators_day(browser: Browser, site: Site, shop: Shop, shots: Path) -> None:
    dead_jobs(site, shop)
