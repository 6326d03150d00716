"""The site of the pages, as a browser shows it: no request to another server, and nothing that axe finds."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.docs_site import SITE, built_pages

#: One page of each kind: the front page, one with code, wide tables, docstrings, pictures, Chinese.
KINDS = [
    "", "start/celery/", "reference/settings/", "reference/calls/", "reference/python/", "run/admin/", "questions/",
    "zh/",
]  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name that the base class calls it by
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site on this machine."""
    built_pages()
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


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
