"""Every command and link on the pages leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.run import runs
from tests.page_blocks import Block, blocks_of
from tests.repository import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
#: The path of an address in this repository.
OWN = re.compile(
    r"https://(?:github\.com/delayhub/delayhub/(?:blob|tree)|raw\.githubusercontent\.com/delayhub/delayhub)/main/([^)#\s]*)"
)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_this_repository_leads_somewhere(page: Path) -> None:
    links = OWN.findall(page.read_text())

    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_is_phony_and_explained() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)

    assert set(phony.split()) == TARGETS


def test_every_script_that_a_command_runs_is_there() -> None:
    scripts = re.findall(r"python ([\w/]+\.py)", MAKEFILE)
    scripts += [name.replace(".", "/") + ".py" for name in re.findall(r"python -m (benchmarks\.\w+)", MAKEFILE)]

    assert [script for script in scripts if not (ROOT / script).exists()] == []


README = (ROOT / "README.md").read_text()
START = [block for page in PAGES if page.parent.name == "start" for block in blocks_of(page)]


def test_the_readme_says_what_it_is_and_how_to_see_it_first() -> None:
    assert README.index("make demo") < README.index("make up") < README.index("```python")


def test_a_fresh_machine_runs_what_the_readme_says() -> None:
    """The two lines of the README, and that CI runs the tests by the same command and says which others it runs."""
    [block] = re.findall(r"^## On a fresh machine\n\n```\n(.*?)```\n\n(.*?)\n## ", README, re.MULTILINE | re.DOTALL)
    in_ci = re.findall(r"^make ([a-z-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)

    assert re.findall(r"^make ([a-z-]+)", block[0], re.MULTILINE) == ["demo", "test"]
    assert in_ci == ["check", "test"]
    assert f"runs {' and '.join(f'`make {name}`' for name in in_ci)}" in block[1]
    install = (ROOT / "docs/start/install.md").read_text()
    assert [name for name in ("demo", "up", "test") if f"`make {name}`" not in install] == []


def test_the_readme_is_short_and_its_links_and_pictures_are_right_wherever_it_is_shown() -> None:
    assert len(README.splitlines()) <= 120
    assert [link for link in re.findall(r"\]\(([^)]*)\)", README) if not link.startswith("https://")] == []


@pytest.mark.parametrize("block", blocks_of(ROOT / "README.md"), ids=str)
def test_a_block_of_the_readme_stands_on_a_page_whose_blocks_are_typed_by_tests(block: Block) -> None:
    if "make demo" in block.text:
        return  # tests/acceptance/test_demo.py
    lines = block.text.splitlines()

    assert any(lines == [line for line in typed.text.splitlines() if line in lines] for typed in START)
