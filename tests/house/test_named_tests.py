"""A test that a page names is there; and on the page of old issues each part has threads and a test that ends them."""

from __future__ import annotations

import re

import pytest

from tests.repository import ROOT, functions_of

PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}
NAMED = [
    pytest.param(file, name, id=f"{page}:{name}")
    for page, text in PAGES.items()
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
]
ISSUES = PAGES["docs/move/issues.md"].split("\n## ")[1:]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_a_page_names_is_there(file: str, name: str) -> None:
    assert name in {function.name for function in functions_of(ROOT / file)}


def test_pages_name_tests() -> None:
    assert len(NAMED) > 30


@pytest.mark.parametrize("part", ISSUES, ids=[part.splitlines()[0] for part in ISSUES])
def test_each_old_issue_has_threads_and_a_test(part: str) -> None:
    assert re.search(r"github\.com/celery/(celery|kombu)/(issues|pull)/\d+", part)
    assert "**Here**" in part
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", part)
