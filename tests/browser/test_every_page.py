"""Every page of the admin, as each look shows it: readable, no wider than the screen, accessible, true to its policy.

``make pictures NAME=all`` runs this with all looks, and keeps a picture of each page in each of them.
Otherwise there are two looks, which differ in everything, and each page is seen in one of them.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response

from tests.admin_scene import Scene
from tests.browser.admin_site import Look, Workers, open_as_ada, pages
from tests.browser.shots import Shots
from tests.property_sizes import FACTOR

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(600)]

#: What the scripts and styles of one page may weigh together on their way, compressed; Django's own not counted.
MOST_SENT_BYTES = 30_000
#: The icon beside the search of Django's own list to choose from: its label stands on an element without a role.
DJANGOS_ICON = ".selector .search-label-icon"
OURS = ("/static/tasksapp/", "/static/django_htmx/")
#: Notes each breach of the content security policy, also those of styles, which the console may leave out.
LISTEN = """
window.breaches = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.breaches.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sample}`);
});
"""
#: Where by day the contrast of colours is looked at, which takes most of the time: all pages have the same style.
CONTRASTS = {"overview", "operation-running", "celery-queue", "job-dead", "biz-type", "alerts", "issues"}
#: Where it is looked into what is folded up.
UNFOLDED = {"app", "issues"}
#: Pages that are Django's own, in our frame; and one that there is not. For their policy only.
DJANGOS = {
    "users": "/admin/auth/user/",
    "user-add": "/admin/auth/user/add/",
    "group-add": "/admin/auth/group/add/",
    "password-change": "/admin/password_change/",
}
NOWHERE = {"nowhere": "/nowhere"}


ALL_LOOKS = [
    Look(theme, width, tongue) for theme in ("light", "dark") for width in (1440, 390) for tongue in ("en", "zh-hans")
]
FEW_LOOKS = [Look("light", 1440, "en"), Look("dark", 390, "zh-hans")]
LOOKS = ALL_LOOKS if os.environ.get("DELAYHUB_SCREENSHOTS") else FEW_LOOKS


@pytest.fixture(params=LOOKS, ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    look: Look = request.param
    return look


@pytest.fixture
def context(browser: Browser, look: Look, live_server: Any) -> Iterator[BrowserContext]:
    """A browser in which somebody who may do everything is logged in."""
    opened = open_as_ada(browser, look, live_server.url)
    opened.add_init_script(LISTEN)
    yield opened
    opened.close()


def seen_in(look: Look, addresses: dict[str, str]) -> dict[str, str]:
    """The pages that this look is to show: all, or where there are few looks every other one."""
    if len(LOOKS) > len(FEW_LOOKS):
        return addresses
    return dict(list(addresses.items())[FEW_LOOKS.index(look) :: len(FEW_LOOKS)])


def test_every_page(
    context: BrowserContext, look: Look, scene: Scene, live_server: Any, redis_client: redis.Redis, shots: Shots
) -> None:
    faults: list[str] = []
    workers = Workers(redis_client)
    page = context.new_page()  # one for all: each new one is a process of Chromium's
    watch = Watch(page)
    for name, address in seen_in(look, {**pages(scene), **DJANGOS, **NOWHERE}).items():
        workers.show_life()
        watch.begin()
        answer = page.goto(live_server.url + address, wait_until="load")
        assert answer is not None
        found = watch.faults(answer, status=404 if name in NOWHERE else 200)
        shots.take(page, f"{name}-{look}")
        if name in UNFOLDED:
            page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        if name not in {**DJANGOS, **NOWHERE}:
            with_contrast = FACTOR > 1 or name in CONTRASTS
            found += [*looks(page), *accessibility(page, with_contrast=with_contrast)]
        faults += [f"{name}: {fault}" for fault in found]

    assert not faults, "\n".join(faults)


class Watch:
    """What a browser complains about while it loads a page, and how much it loads."""

    def __init__(self, page: Page) -> None:
        self._complaints: list[str] = []
        self._files: list[Response] = []
        self._weights: dict[str, int] = {}
        page.on("pageerror", lambda error: self._complaints.append(f"script: {error}"))
        page.on("console", self._hear)
        page.on("response", self._note)

    def begin(self) -> None:
        """Forgets the page before."""
        self._complaints.clear()
        self._files.clear()

    def faults(self, answer: Response, *, status: int) -> list[str]:
        """What is wrong."""
        page = answer.frame.page
        found = [*self._complaints, *(f"breaks the policy: {breach}" for breach in page.evaluate("window.breaches"))]
        if "unsafe-inline" in answer.headers.get("content-security-policy", "unsafe-inline"):
            found.append("has no policy against scripts of its own")
        if answer.status != status:
            found.append(f"answered {answer.status}")
        weight = sum(map(self._weight, self._files))
        if weight > MOST_SENT_BYTES:
            found.append(f"scripts and styles of {weight} bytes")
        return found

    def _weight(self, file: Response) -> int:
        """The same on each page."""
        if file.url not in self._weights:
            self._weights[file.url] = len(gzip.compress(file.body()))
        return self._weights[file.url]

    def _hear(self, said: ConsoleMessage) -> None:
        """What the console says of the page itself are its status and its breaches, which are looked at."""
        if said.type == "error" and said.location["url"] != said.page.url:  # type: ignore[union-attr]  # it has one
            self._complaints.append(f"console: {said.text}")

    def _note(self, answer: Response) -> None:
        if any(folder in answer.url for folder in OURS):
            self._files.append(answer)
        if answer.status >= 400 and not answer.request.is_navigation_request():
            self._complaints.append(f"{answer.status} {answer.url}")


def looks(page: Page) -> list[str]:
    """What a person would see at once: a page that is wider than the screen."""
    wide = page.evaluate(
        """() => {
            const edge = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= edge) return [];
            return [...document.querySelectorAll('#content *')]
                .filter(element => element.getBoundingClientRect().right > edge + 1)
                .slice(0, 3).map(element => element.outerHTML.slice(0, 120));
        }"""
    )
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return [f"wider than the screen ({width[0]} of {width[1]} px): {wide}"] if width[0] > width[1] else []


def accessibility(page: Page, *, with_contrast: bool) -> list[str]:
    """What axe-core finds."""
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": with_contrast}}}
    found = Axe().run(page, context={"exclude": [[DJANGOS_ICON]]}, options=options).response["violations"]
    return [f"axe {rule['id']}: {rule['help']}: {[node['html'][:160] for node in rule['nodes'][:3]]}" for rule in found]
