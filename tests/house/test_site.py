"""The site of the pages: nothing of it leads nowhere or asks another server, and no page of it is heavy."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from tasksapp.api.http.problem_types import PROBLEM_TYPES
from tests.docs_site import SITE, SitePage, broken_links, built_pages, navigation, outside_requests
from tests.repository import ROOT

DOCS = ROOT / "docs"
#: What a browser loads for one page at the first visit, compressed, without pictures: text, styles, scripts.
MOST_BYTES = 150_000


def test_no_link_and_no_anchor_leads_nowhere() -> None:
    assert broken_links(built_pages()) == []


def test_no_page_makes_a_browser_ask_another_server() -> None:
    assert outside_requests(built_pages()) == []


def test_each_page_is_in_the_menu_once() -> None:
    named = [page for _, page in navigation()]
    records = {
        f"decisions/{path.name}" for path in (DOCS / "decisions").glob("0*.md")
    }  # the page of decisions has them

    assert sorted(named) == sorted({str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - records)


def test_each_code_of_a_problem_has_its_anchor_and_no_other_is_there() -> None:
    [page] = [page for page in built_pages() if page.path == SITE / "reference/problems/index.html"]
    text = page.path.read_text()

    anchors = re.findall(r'<h2 id="([^"]+)"><code>([^<]+)</code>', text)
    assert [code for _, code in anchors] == list(PROBLEM_TYPES)
    assert [(anchor, code) for anchor, code in anchors if anchor != code] == []


def test_each_page_is_told_to_programs_that_read() -> None:
    built_pages()

    assert (SITE / "llms.txt").read_text().count("](https://") == len(list(navigation()))


def test_no_page_is_heavy() -> None:
    heavy = {str(page.path.relative_to(SITE)): size for page in built_pages() if (size := weight_of(page)) > MOST_BYTES}

    assert heavy == {}


def weight_of(page: SitePage) -> int:
    """The compressed bytes of a page and of the styles and scripts that it names."""
    if page.path.name == "404.html":  # it names the same ones from the root of the server
        return 0
    named = [page.path, *((page.path.parent / name).resolve() for name in page.fetched)]
    return sum(compressed(path) for path in named if path.suffix in {".html", ".css", ".js"})


def compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))
