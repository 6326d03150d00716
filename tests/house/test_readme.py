"""Every command and link on the pages leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.run import runs
from tests.repository import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_command_on_a_page_is_in_the_makefile(page: Path) -> None:
    typed = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", page.read_text(), re.MULTILINE)

    assert set(typed) <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_run_that_a_page_names_is_there(page: Path) -> None:
    typed = re.findall(r"make (bench|chaos) NAME=([a-z-]+)", page.read_text())

    assert [name for kind, name in typed if name not in runs(kind)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_is_phony_and_explained() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)

    assert set(phony.split()) == TARGETS


def test_every_script_that_a_command_runs_is_there() -> None:
    scripts = re.findall(r"python ([\w/]+\.py)", MAKEFILE)
    scripts += [name.replace(".", "/") + ".py" for name in re.findall(r"python -m (benchmarks\.\w+)", MAKEFILE)]

    assert [script for script in scripts if not (ROOT / script).exists()] == []


def test_the_readme_says_what_it_is_and_how_to_see_it_first() -> None:
    readme = (ROOT / "README.md").read_text()

    assert readme.index("make demo") < readme.index("make up") < readme.index("```python")
