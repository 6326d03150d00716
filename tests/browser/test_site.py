"""The site of the pages, as a browser shows it in both looks: no request to another server, nothing that axe finds.

``make check`` looks at a page of each kind, ``make nightly`` at all.
"""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, ViewportSize, expect

from tests.docs_site import BASE, SITE, built_pages
from tests.docs_versions import add

#: One page of each kind: the front page, one with code, wide tables, docstrings, pictures, Chinese.
KINDS = [
    "", "start/celery/", "reference/settings/", "reference/calls/", "reference/python/", "run/admin/", "questions/",
    "zh/",
]  # fmt: skip
#: What the theme calls the looks.
SCHEMES = {"light": "default", "dark": "slate"}
WIDE: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name that the base class calls it by
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a plain file server of the folder."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site on this machine, in the folder that it has on its server."""
    built_pages()
    folder = tmp_path_factory.mktemp("server")
    there = folder / BASE.strip("/")
    there.parent.mkdir(parents=True, exist_ok=True)
    there.symlink_to(SITE)
    with served(folder) as address:
        yield address + BASE.rstrip("/")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the sites of two releases and of what comes next."""
    built_pages()
    folder = tmp_path_factory.mktemp("versions")
    for tag in ("v0.1.0", "v0.2.0", None):
        add(SITE, folder, tag=tag)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module", params=["light", "dark"])
def reader(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page of a browser for all pages of the site in one look: it would remember that look."""
    context = browser.new_context(color_scheme=request.param, viewport=WIDE)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    assert page.locator("body").get_attribute("data-md-color-scheme") == SCHEMES[request.param]
    context.close()


def faults(page: Page, site: str, path: str) -> list[str]:
    """What is wrong with a page: requests to another server, its width on a phone, and what axe finds."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.set_viewport_size(WIDE)
    page.goto(f"{site}/{path}")
    page.wait_for_load_state("networkidle")
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    page.set_viewport_size(PHONE)
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.remove_listener("request", note)
    return [
        *(
            f"{path} asks {url}"
            for url in asked
            if not url.startswith((site.removesuffix(BASE.rstrip("/")), "data:", "blob:"))
        ),
        *([f"{path} is {wide} px wide on a phone"] if wide > PHONE["width"] else []),
        *(f"{path}: {found['id']}: {node['html'][:200]}" for found in violations for node in found["nodes"]),
    ]


@pytest.mark.check
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", KINDS)
def test_a_page_asks_no_other_server_and_axe_finds_nothing(site: str, reader: Page, path: str) -> None:
    assert faults(reader, site, path) == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_no_page_asks_another_server_and_axe_finds_nothing_in_either_look(site: str, reader: Page) -> None:
    pages = [str(page.path.relative_to(SITE)) for page in built_pages()]

    assert len(pages) > 100
    assert [fault for path in pages for fault in faults(reader, site, path)] == []


@pytest.mark.check
def test_the_menu_of_versions_leads_to_the_same_page_of_another_one(versions: str, page: Page) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))

    page.goto(versions)
    page.wait_for_url(f"{versions}/latest/")
    page.goto(f"{versions}/latest/start/celery/")
    menu = page.locator(".md-version")
    expect(menu.locator("button")).to_have_text("0.2.0")
    assert menu.locator("li").all_inner_texts() == ["0.2.0", "0.1.0", "next, not released"]
    expect(page.get_by_text("This is not the newest release")).to_be_hidden()
    assert Axe().run(page).response["violations"] == []
    menu.locator("button").focus()  # a pointer that is above it opens the list too
    menu.get_by_text("0.1.0").click()
    page.wait_for_url(f"{versions}/0.1/start/celery/")

    expect(page.get_by_text("This is not the newest release")).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("link", name="read about that one").click()
    page.wait_for_url(re.compile("/latest/$"))
    assert [url for url in asked if not url.startswith((versions, "data:", "blob:"))] == []
    assert wrong == []
