"""Each thread on the page of old issues stands beside a test that ends it, and the test exists."""

from __future__ import annotations

import re

import pytest

from tests.repository import ROOT, functions_of

PAGE = (ROOT / "docs/move/issues.md").read_text()
PARTS = PAGE.split("\n## ")[1:]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_the_page_names_is_there(file: str, name: str) -> None:
    assert name in {function.name for function in functions_of(ROOT / file)}


@pytest.mark.parametrize("part", PARTS, ids=[part.splitlines()[0] for part in PARTS])
def test_each_part_has_threads_and_a_test(part: str) -> None:
    assert re.search(r"github\.com/celery/(celery|kombu)/(issues|pull)/\d+", part)
    assert "**Here**" in part
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", part)
