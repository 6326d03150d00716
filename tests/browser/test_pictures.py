"""The pictures of docs/images: pages of one site at one moment, which do not contradict each other.

``make pictures`` keeps them, in light and dark; otherwise the pages are looked at once, and no picture is kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, NamedTuple

import pytest
import redis
from django.utils import timezone
from PIL import Image
from playwright.sync_api import Browser, Page

from delayhub.clock import SystemClock, now_by
from delayhub.engine import DelayQueue, Entry
from tasksapp.models import BizType
from tests.admin_scene import Scene
from tests.browser.admin_site import Look, Workers, open_as_ada, pages, tell_one_story
from tests.drawings import IMAGES
from tests.integration.tasksapp.receiver import Receiver
from tests.redis_time import redis_now_ms
from tests.waiting import wait_until

# Nightly: by day each of these pages is looked at in test_every_page.py, and a test of a biz type in test_biz_types.py.
pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600),
]  # fmt: skip

KEEPS = bool(os.environ.get("DELAYHUB_PICTURES"))
#: The moment of all pictures, on a Wednesday morning.
NOW = datetime(2026, 11, 25, 9, 41, 12, tzinfo=UTC)
#: A page's picture has this width, and a phone's that.
WIDE, NARROW = 1200, 390
COLOURS = 160
MOST_BYTES = 120_000
MADE = IMAGES / "made.json"
CLOSE = b'{"headers":{"task":"shop.tasks.close","id":"close-%d","argsrepr":"[%d]"},"properties":{}}'

#: Moves each moment in the text of a page.
MOVE_MOMENTS = r"""move_ms => {
    const moved = (_, day, time) =>
        new Date(Date.parse(`${day}T${time}Z`) + move_ms).toISOString().slice(0, 19).replace('T', ' ');
    document.querySelectorAll('#content *').forEach(element => element.childNodes.forEach(node => {
        if (node.nodeType === 3) node.data = node.data.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/g, moved);
    }));
}"""


class Picture(NamedTuple):
    """A page, as far as the picture shows it.

    Args:
        page: its name in ``pages``.
        height: of the picture, in pixels.
        says: what must stand on the page.
    """

    page: str
    height: int
    says: tuple[str, ...]
    width: int = WIDE


PICTURES = {
    "overview": Picture("overview", 1240, (
        "order.close: jobs die, 44,667 lately. 32,367 dead jobs wait for a person.",
        "redrive, order.close, by ada: running",
        "12,300 of 42,000",
    )),
    "issues": Picture("issues", 580, ("29,700", "2,600", "32,367 dead jobs of 3 kinds")),
    "redrive": Picture("operation-planned", 750, ("timeout", "2,600")),
    "operation": Picture("operation-running", 800, ("Runs: 12,300 of 42,000 jobs, 73.6 a second.",)),
    "job": Picture("job-dead", 1000, ("attempt 3: 503 after 84 ms", "order-90041")),
    "alerts": Picture("alerts", 820, ("order.close: jobs die, 44,667 lately.", "ada@shop.example")),
    "phone": Picture("overview", 815, ("32,367",), NARROW),
}  # fmt: skip


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands, for rows and pages; Redis and sessions have their own."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture(params=["light", "dark"] if KEEPS else ["light"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(settings: Any) -> None:
    """What people of that shop have set."""
    settings.DELAYHUB = {
        **settings.DELAYHUB, "OWNER_MAIL": ["ada@shop.example"], "SITE_URL": "https://delayhub.shop.example",
        "ALLOWED_NETWORKS": ["127.0.0.0/8"],
    }  # fmt: skip


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as opened:
        yield opened


def keep(page: Page, name: str, *, width: int, height: int) -> None:
    """Writes the upper part of a page, with few colours, so that it weighs little."""
    if not KEEPS:
        return
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height}, full_page=True)
    few = Image.open(BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    path = IMAGES / f"{name}.png"
    few.save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, f"{path.name} weighs {path.stat().st_size} bytes"


def today() -> str:
    """By the clock of the machine, which goes on."""
    return now_by(SystemClock()).date().isoformat()


def shown(page: Page, address: str, workers: Workers) -> str:
    """The words of a page of a site that delivers."""

    def delivers() -> bool:
        # On a busy machine what was shown of workers may be too old before the page has asked.
        workers.show_life()
        page.goto(address, wait_until="load")
        return "Not delivering" not in page.inner_text("body")

    wait_until(delivers, within_seconds=300)
    return page.inner_text("body")


def test_the_pictures_tell_one_story(
    browser: Browser, theme: str, shop: None, standing: None, scene: Scene, live_server: Any, redis_client: redis.Redis
) -> None:
    tell_one_story(scene)
    workers = Workers(redis_client)
    context = open_as_ada(browser, Look(theme, WIDE, "en"), live_server.url)
    context.clock.set_fixed_time(NOW)
    page = context.new_page()
    said: dict[str, str] = {}
    for name, picture in PICTURES.items():
        page.set_viewport_size({"width": picture.width, "height": picture.height})
        said[name] = shown(page, live_server.url + pages(scene)[picture.page], workers)
        keep(page, f"{name}-{theme}", width=picture.width, height=picture.height)
    menu = page.locator(".delayhub-nav a").all_inner_texts()
    context.close()
    if KEEPS:
        MADE.write_text(json.dumps({"made": today(), "menu": menu}, indent=1) + "\n")

    missing = {(name, text) for name, picture in PICTURES.items() for text in picture.says if text not in said[name]}
    assert missing == set()
    assert "receiver down" not in said["overview"]
    assert re.search(r"Dead\s+32,367\s+\+44,667 today", said["overview"])
    assert re.search(r"Due now\s+12,300\s", said["overview"])
    assert "12,300 jobs are due" in said["overview"]
    assert menu == json.loads(MADE.read_text())["menu"], "the menu is another than that of the pictures: make pictures"


def test_the_picture_of_a_queue_shows_what_waits_and_why(
    browser: Browser, theme: str, shop: None, scene: Scene, live_server: Any, redis_client: redis.Redis
) -> None:
    queue = DelayQueue(redis_client, "celery")
    queue.cancel([entry.id for entry in queue.list("waiting")])
    now_ms = redis_now_ms(redis_client) // 1000 * 1000
    queue.schedule([
        Entry(f"close-{number}", now_ms + minutes * 60_000 + 30_000, CLOSE % (number, 90_050 + number))
        for number, minutes in enumerate((12, 14, 19, 27, 30))
    ])  # fmt: skip
    context = open_as_ada(browser, Look(theme, WIDE, "en"), live_server.url)
    page = context.new_page()

    said = shown(page, live_server.url + pages(scene)["celery-queue"], Workers(redis_client, "celery"))
    # Redis has its own clock: the moments in its picture are as far from that of the other pictures as from now.
    page.evaluate(MOVE_MOMENTS, int(NOW.timestamp() * 1000) - now_ms)
    moved = page.inner_text("#content")
    keep(page, f"queue-{theme}", width=WIDE, height=1180)
    context.close()

    assert re.search(r"Waiting\s+5", said)
    assert f"{NOW + timedelta(minutes=12, seconds=30):%Y-%m-%d %H:%M:%S}" in moved
    assert re.search(r"shop.tasks.report each flow key\s+1/s", said)
    assert "No worker that sends a heartbeat takes this queue" not in said


def test_a_test_of_a_biz_type_shows_what_was_sent_and_answered(
    browser: Browser, theme: str, shop: None, standing: None, scene: Scene, live_server: Any, receiver: Receiver,
    redis_client: redis.Redis,
) -> None:  # fmt: skip
    BizType.objects.filter(pk=scene.closing.pk).update(url=receiver.url("/hooks/close"))
    context = open_as_ada(browser, Look(theme, WIDE, "en"), live_server.url)
    context.clock.set_fixed_time(NOW)
    page = context.new_page()

    shown(page, live_server.url + pages(scene)["biz-type-test"], Workers(redis_client))
    page.get_by_role("button", name="Send test").click()
    said = page.inner_text("#content")
    # The receiver of the picture is the scene's, not this machine.
    page.evaluate(
        """here => { document.querySelectorAll('#content *').forEach(element => element.childNodes.forEach(node => {
            if (node.nodeType === 3) node.data = node.data.replaceAll(here, 'https://shop.example');
        })); }""",
        receiver.url("").rstrip("/"),
    )
    keep(page, f"biz-type-test-{theme}", width=WIDE, height=630)
    context.close()

    assert "A job with this answer is done" in said
    assert receiver.received[0].headers["delayhub-test"] == "1"
