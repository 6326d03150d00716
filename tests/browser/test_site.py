"""The site of the pages, as a browser shows it: no request to another server, and nothing that axe finds."""

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
from playwright.sync_api import Page, expect

from tests.docs_site import SITE, built_pages
from tests.docs_versions import add

#: One page of each kind: the front page, one with code, wide tables, docstrings, pictures, Chinese.
KINDS = [
    "", "start/celery/", "reference/settings/", "reference/calls/", "reference/python/", "run/admin/", "questions/",
    "zh/",
]  # fmt: skip


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
def site() -> Iterator[str]:
    """The address of the site on this machine."""
    built_pages()
    with served(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the sites of two releases and of what comes next."""
    built_pages()
    folder = tmp_path_factory.mktemp("versions")
    for tag in ("v0.1.0", "v0.2.0", None):
        add(SITE, folder, tag=tag)
    with served(folder) as address:
        yield address


@pytest.mark.check
@pytest.mark.parametrize("path", KINDS)
def test_a_page_asks_no_other_server_and_axe_finds_nothing(site: str, page: Page, path: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{site}/{path}")
    page.wait_for_load_state("networkidle")

    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["html"] for node in found["nodes"]]) for found in violations] == []


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
