"""A real Chromium for the admin. Debian's package is enough; no browser is downloaded.

The headless shell is the same engine without windows, menus and profiles, which tests do not see: half the CPU.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect, sync_playwright

import delayhub
from delayhub.engine import DelayQueue
from tasksapp.models import ApiKey
from tasksapp.models.api_key import Scope
from tests.admin_scene import Scene, store_scene
from tests.browser.shots import Shots
from tests.lasting import Lasting
from tests.limits_scene import hold_back
from tests.unique_scene import take_keys

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The first ones keep it from calling home, which a closed network would only refuse.
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--disable-gpu",
    "--no-sandbox",
]

# Its own 5 s are too few beside other tests.
expect.set_options(timeout=60_000)


LASTING: Lasting[Browser] = Lasting("browser")


@contextmanager
def chromium(program: str) -> Iterator[Browser]:
    """While it is open, no other test of this process can run asyncio."""
    # Playwright runs an event loop in this thread, which Django would take for an asynchronous caller.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        opened.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="module")
def browser() -> Browser:
    """One for tests of several modules: each opens what it needs of it, and closes that."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("cannot run here: there is no Chromium; on Debian: apt install chromium-headless-shell")
    return LASTING.begun(lambda: chromium(program))


@pytest.hookimpl(trylast=True)  # after the fixtures of the test
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    LASTING.end_before(item, nextitem)


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.nightly)])
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page in a light and at night in a dark system, which changes how pages look and not what they do."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.fixture
def shots() -> Shots:
    """Takes pictures of pages for those who want to look."""
    return Shots()


@pytest.fixture
def site(live_server: Any, django_user_model: Any, settings: Any) -> str:
    """The address of a site without Redis, where ada may do everything."""
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}  # the database decides
    django_user_model.objects.create_superuser("ada", password="analytical")
    return str(live_server.url)


@pytest.fixture
def scene(live_server: Any, current_celery: Celery, broker: str, settings: Any, redis_client: redis.Redis) -> Scene:
    """A site with a believable shop on a bad morning."""
    settings.CELERY_BROKER_URL = settings.BROKER_URL = current_celery.conf.broker_url = broker
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": broker.replace("delayhub://", "redis://")}
    delayhub.install(current_celery)
    hold_back(DelayQueue(redis_client, "celery"))
    take_keys(DelayQueue(redis_client, "celery"))
    made = store_scene()
    now = timezone.now()
    ApiKey.objects.create(
        name="checkout", owner="The shop's team", prefix="dh_3fa9c1", hashed_key="x" * 64,
        scopes=[Scope.JOBS_READ, Scope.JOBS_WRITE], created_at=now, expires_at=now + timedelta(days=9),
        last_used_at=now - timedelta(minutes=3), last_used_from="192.0.2.7",
    )  # fmt: skip
    return made
