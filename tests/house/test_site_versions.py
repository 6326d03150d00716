"""The site of several versions: each keeps its folder, and a page leads to the same page of another one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.docs_versions import NotAdded, add, main, named, titles_in


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """What ``make docs`` might have made."""
    folder = tmp_path / "site"
    (folder / "start").mkdir(parents=True)
    for name in ("index.html", "404.html", "llms.txt", "sitemap.xml", "start/index.html"):
        (folder / name).write_text(f"{name} of the first")
    return folder


def change(site: Path, text: str) -> None:
    for path in site.rglob("*.*"):
        path.write_text(text)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_a_version_is_added_beside_those_that_are_there(site: Path, tmp_path: Path) -> None:
    into = tmp_path / "all"

    assert add(site, into, tag="v0.1.0") == "0.1"
    change(site, "the second")
    assert add(site, into, tag="v0.2.0") == "0.2"

    assert (into / "0.1/start/index.html").read_text() == "start/index.html of the first"
    for folder in ("0.2", "latest"):
        assert (into / folder / "start/index.html").read_text() == "the second"
    assert (into / "404.html").read_text() == (into / "llms.txt").read_text() == "the second"
    assert "url=latest/" in (into / "index.html").read_text()


def test_the_menu_has_releases_by_their_numbers_and_then_what_comes_next(site: Path, tmp_path: Path) -> None:
    into = tmp_path / "all"

    for tag in (None, "v0.9.0", "v0.10.0", "v0.2.3"):
        add(site, into, tag=tag)

    assert json.loads((into / "versions.json").read_text()) == [
        {"version": "0.10", "title": "0.10.0", "aliases": ["latest"]},
        {"version": "0.9", "title": "0.9.0", "aliases": []},
        {"version": "0.2", "title": "0.2.3", "aliases": []},
        {"version": "next", "title": "next, not released", "aliases": []},
    ]


def test_before_the_first_release_the_newest_is_what_comes_next(site: Path, tmp_path: Path) -> None:
    into = tmp_path / "all"

    add(site, into, tag=None)
    before = titles_in(into), (into / "latest/index.html").read_text()
    add(site, into, tag="v0.1.0")
    change(site, "main goes on")
    add(site, into, tag=None)

    assert before == ({"next": "next, not released"}, "index.html of the first")
    assert (into / "next/index.html").read_text() == "main goes on"
    assert (into / "latest/index.html").read_text() == "index.html of the first"


def test_a_page_that_went_is_not_left_in_the_folder_of_its_version(site: Path, tmp_path: Path) -> None:
    into = tmp_path / "all"
    add(site, into, tag="v0.1.0")
    (site / "start/index.html").unlink()

    add(site, into, tag="v0.1.1")

    assert not (into / "0.1/start/index.html").exists()
    assert titles_in(into) == {"0.1": "0.1.1"}


def test_an_earlier_release_does_not_take_the_place_of_a_later_one(site: Path, tmp_path: Path) -> None:
    add(site, tmp_path / "all", tag="v0.1.10")

    with pytest.raises(NotAdded, match=r"^0\.1\.10 is in 0\.1/ already, and is newer than 0\.1\.9$"):
        add(site, tmp_path / "all", tag="v0.1.9")


@pytest.mark.parametrize("tag", ["0.1.0", "v0.1", "v0.1.0rc1", "main"])
def test_a_tag_that_names_no_release_is_refused(tag: str) -> None:
    with pytest.raises(NotAdded, match="is no tag of a release"):
        named(tag)


def test_versions_are_kept_in_a_branch_of_the_origin(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    origin, here = tmp_path / "origin", tmp_path / "here"
    git(tmp_path, "init", "--quiet", "--bare", str(origin))
    git(tmp_path, "clone", "--quiet", str(origin), str(here))
    monkeypatch.chdir(here)
    asked = [str(site), "sites", "--branch", "site"]

    assert main([*asked, "--tag", "v0.1.0"]) == 0
    change(site, "the second")
    assert main([*asked, "--tag", "v0.2.0"]) == 0
    kept = git(origin, "rev-parse", "site")
    assert main([*asked, "--tag", "v0.2.0"]) == 0  # a workflow that is run again
    assert main([*asked, "--tag", "nonsense"]) == 1

    assert git(origin, "rev-parse", "site") == kept
    assert git(origin, "show", "site:0.1/index.html") == "index.html of the first"
    assert git(origin, "show", "site:latest/index.html") == "the second"
    told = capsys.readouterr()
    assert told.out.splitlines()[-1] == "sites/0.2 is there, beside 0.1"
    assert told.err == "not added: nonsense is no tag of a release: v0.1.0 would be one\n"
